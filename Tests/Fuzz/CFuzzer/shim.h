#include <stddef.h>
#include <stdint.h>

// libFuzzer's own main, called with what is to be tried (https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library).
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*try)(const uint8_t *data, size_t size));
