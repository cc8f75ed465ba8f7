/// The commit that this program was built of, or "unknown". Package.swift takes it from BUILD_COMMIT in the environment.
const char *build_commit(void);
