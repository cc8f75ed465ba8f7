#include <stddef.h>

/// A file that is part of the program.
struct embedded_file {
    /// Where it was, from the folder of this target; null behind the last file.
    const char *path;
    const unsigned char *bytes;
    size_t count;
};

/// The first of all files.
const struct embedded_file *embedded_files(void);
