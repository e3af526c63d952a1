package sandbox

import "golang.org/x/sys/unix"

// nativeABI is what the kernel calls the architecture of our own programs. Those of 32 bits have another one.
const nativeABI = unix.AUDIT_ARCH_AARCH64

// nativeCalls: this architecture has none beside the common ones.
var nativeCalls []uint32
