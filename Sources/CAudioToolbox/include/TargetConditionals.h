// Target of the compilation: always Linux here, even if the program defines __APPLE__. The
// toolchain's Core Foundation also includes this file.
#ifndef __TARGETCONDITIONALS__
#define __TARGETCONDITIONALS__

#define TARGET_OS_LINUX         1
#define TARGET_OS_DARWIN        0
#define TARGET_OS_MAC           0
#define TARGET_OS_OSX           0
#define TARGET_OS_IPHONE        0
#define TARGET_OS_IOS           0
#define TARGET_OS_TV            0
#define TARGET_OS_WATCH         0
#define TARGET_OS_VISION        0
#define TARGET_OS_MACCATALYST   0
#define TARGET_OS_UIKITFORMAC   0
#define TARGET_OS_SIMULATOR     0
#define TARGET_OS_EMBEDDED      0
#define TARGET_IPHONE_SIMULATOR 0
#define TARGET_OS_WINDOWS       0
#define TARGET_OS_WIN32         0
#define TARGET_OS_BSD           0
#define TARGET_OS_ANDROID       0
#define TARGET_OS_CYGWIN        0
#define TARGET_OS_WASI          0

#define TARGET_CPU_PPC    0
#define TARGET_CPU_PPC64  0
#define TARGET_CPU_MIPS   0
#define TARGET_CPU_MIPS64 0
#define TARGET_CPU_S390X  0
#define TARGET_CPU_WASM32 0
#if defined(__x86_64__)
#define TARGET_CPU_X86    0
#define TARGET_CPU_X86_64 1
#define TARGET_CPU_ARM    0
#define TARGET_CPU_ARM64  0
#elif defined(__aarch64__)
#define TARGET_CPU_X86    0
#define TARGET_CPU_X86_64 0
#define TARGET_CPU_ARM    0
#define TARGET_CPU_ARM64  1
#else
#error "Cuejack runs on 64-bit x86 and ARM."
#endif

#define TARGET_RT_LITTLE_ENDIAN 1
#define TARGET_RT_BIG_ENDIAN    0
#define TARGET_RT_64_BIT        1
#define TARGET_RT_MAC_CFM       0
#define TARGET_RT_MAC_MACHO     0

#endif
