#pragma once
#include <stddef.h>
#include <sys/epoll.h>

// Declared by the C library for GNU sources only.
extern void *memmem(const void *text, size_t length, const void *word, size_t wordLength);
