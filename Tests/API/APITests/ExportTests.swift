import Foundation
import TestSupport
import Testing

/// The library must export exactly the functions that its headers declare.
@Suite(.tags(.program)) struct ExportTests {
  @Test func theLibraryExportsWhatTheHeadersDeclare() throws {
    // Headers for a newer glibc leave its functions out.
    let declared = try PublicHeaders.functions().union(["strlcpy", "strlcat"])
    let exported = try PublicHeaders.exports(of: builtProduct(named: "libAudioToolbox.so"))
    // Both lists are plausible.
    for name in ["AudioQueueNewOutput", "AudioQueueDispose", "AudioFileOpenURL"] {
      expectTrue(declared.contains(name) && exported.contains(name), "\(name)")
    }
    let missing = declared.subtracting(exported).sorted()
    let surplus = exported.subtracting(declared).sorted()
    expectTrue(
      missing.isEmpty,
      "declared, but not in the library: a program that calls them does not link\n  \(missing)")
    expectTrue(
      surplus.isEmpty,
      "in the library, but not declared: hide them (visibility) or declare them\n  \(surplus)")
  }

  /// Checks the header parser with headers whose functions are known.
  @Test func declaredFunctionsAreReadFromHeaders() throws {
    try withTemporaryFolder { folder in
      try Data(
        """
        #pragma once
        #include <CoreFoundation/CoreFoundation.h>
        #include <dispatch/dispatch.h>
        #define API extern __attribute__((visibility("default")))
        API OSStatus Plain(UInt32 number) __attribute__((nonnull));
        API CFStringRef
        OverLines(
            CFRunLoopRef loop,
            void (*callback)(void *));
        typedef void (^Block)(int);
        extern void TakesBlock(Block block, void (*function)(const char *name));
        static inline int Inline(void) { return 1; }
        static inline int CallsOthers(void) { return (int)CFStringGetLength(NULL); }
        struct Record { int (*member)(void); };
        extern int Variable;

        """.utf8
      ).write(to: folder.appendingPathComponent("First.h"))
      try FileManager.default.createDirectory(
        at: folder.appendingPathComponent("Sub"), withIntermediateDirectories: true)
      try Data("#include <First.h>\n#include <stdio.h>\nvoid Second(FILE *file);\n".utf8).write(
        to: folder.appendingPathComponent("Sub/Second.h"))
      let found = try PublicHeaders.functions(in: folder)
      expectEqual(found.sorted(), ["OverLines", "Plain", "Second", "TakesBlock"])
    }
  }
}
