import Foundation
import TestSupport
import Testing

/// What `make install` puts on a machine is all that a C or C++ program needs.
@Suite struct InstallTests {
  /// Installs this build's products, for `body` to use.
  private func withInstallation(_ body: (Installation) throws -> Void) throws {
    try withTemporaryFolder { prefix in
      let made = try run(
        "make",
        ["install", "PREFIX=\(prefix.path)", "CONFIG=debug", "BUILT=\(builtProducts.path)"],
        folder: repository)
      try #require(made.status == 0, "\(made.output)\(made.errors)")
      try body(Installation(prefix: prefix))
    }
  }

  private struct Installation {
    let prefix: URL

    /// Words that pkg-config gives for the installed library, and for nothing else.
    func flags(_ options: String...) throws -> [String] {
      let result = try TestSupport.run(
        "pkg-config", options + ["AudioToolbox"],
        environment: ["PKG_CONFIG_PATH": prefix.appendingPathComponent("lib/pkgconfig").path])
      guard result.status == 0 else { throw SupportError(result.errors) }
      return result.output.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    /// Builds and runs a program with nothing but pkg-config's flags.
    func run(_ program: String, suffix: String, options: [String]) throws -> CommandResult {
      let source = prefix.appendingPathComponent("program.\(suffix)")
      let binary = prefix.appendingPathComponent("program").path
      try Data(program.utf8).write(to: source)
      let compiler = try flags("--variable=clang")[0] + (suffix == "c" ? "" : "++")
      let built = try TestSupport.run(
        compiler,
        options + ["-Wall", "-Werror", source.path, "-o", binary] + flags("--cflags", "--libs"))
      guard built.status == 0 else { throw SupportError(built.errors) }
      return try TestSupport.run(binary, environment: ["LD_LIBRARY_PATH": ""])
    }
  }

  @Test func cAndCxxProgramsBuildAndRun() throws {
    let program = """
      #include <AudioToolbox/AudioToolbox.h>
      #include <CoreFoundation/CoreFoundation.h>
      #include <dispatch/dispatch.h>
      #include <stdio.h>
      int main(void) {
        __block int answer = 0;
        dispatch_queue_t queue = dispatch_queue_create("test", NULL);
        dispatch_sync(queue, ^{ answer = 42; });
        dispatch_release(queue);
        printf("%d %d\\n", CFRunLoopGetCurrent() != NULL, answer);
        return 0;
      }

      """
    try withInstallation { installation in
      for (suffix, options) in [
        ("c", ["-std=c99"]), ("c", ["-std=c17"]), ("cpp", ["-std=c++11"]), ("cpp", ["-std=c++20"]),
      ] {
        let result = try installation.run(program, suffix: suffix, options: options)
        #expect(result.status == 0 && result.output == "1 42\n", "\(options) \(result.errors)")
      }
    }
  }

  /// Each header brings in what it needs.
  @Test func everyInstalledHeaderCompilesAlone() throws {
    try withInstallation { installation in
      let root = installation.prefix.appendingPathComponent("include/cuejack")
      let headers = try PublicHeaders.names(in: root)
      #expect(headers.contains("AudioToolbox/AudioToolbox.h"))
      let clang = try installation.flags("--variable=clang")[0]
      let flags = try installation.flags("--cflags")
      for language in ["c", "c++"] {
        for header in headers {
          let result = try run(
            clang,
            flags + [
              "-fsyntax-only", "-Wall", "-Werror", "-x", language, "-include", header, "/dev/null",
            ])
          #expect(result.status == 0, "\(header) as \(language):\n\(result.errors)")
        }
      }
    }
  }

  /// Nothing of the build folder, or of a moved one, is needed to load the library and the command line.
  @Test func theLibraryFindsWhatItNeeds() throws {
    try withInstallation { installation in
      for name in ["lib/libAudioToolbox.so", "bin/cuejack"] {
        let file = installation.prefix.appendingPathComponent(name).path
        let needs = try run("ldd", [file], environment: ["LD_LIBRARY_PATH": ""])
        #expect(needs.status == 0)
        #expect(!needs.output.contains("not found"), "\(name)\n\(needs.output)")
        let path = try run("readelf", ["-d", file])
        #expect(!path.output.contains(builtProducts.path), "\(name)\n\(path.output)")
      }
      let help = try run(
        installation.prefix.appendingPathComponent("bin/cuejack").path, ["--help"])
      #expect(help.status == 0, "\(help.errors)")
    }
  }

  @Test func uninstallLeavesNoFile() throws {
    try withTemporaryFolder { root in
      for target in ["install", "uninstall"] {
        let made = try run(
          "make",
          [target, "PREFIX=/usr", "DESTDIR=\(root.path)", "BUILT=\(builtProducts.path)"],
          folder: repository)
        #expect(made.status == 0, "\(made.errors)")
        let files = FileManager.default.enumerator(
          at: root, includingPropertiesForKeys: [.isRegularFileKey])?
          .compactMap { $0 as? URL }
          .filter { (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true }
        #expect((files?.isEmpty == true) == (target == "uninstall"), "\(files ?? [])")
        if target == "install" {
          // A prefix below DESTDIR is not the one that programs are to see.
          let file = text(of: root.appendingPathComponent("usr/lib/pkgconfig/AudioToolbox.pc"))
          #expect(file.contains("prefix=/usr\n") && !file.contains("@"))
        }
      }
    }
  }
}
