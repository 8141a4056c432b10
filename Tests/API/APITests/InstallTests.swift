import Foundation
import TestSupport
import Testing

/// Everything that a C or C++ program needs must be installed by `make install`.
@Suite(.tags(.server, .program)) struct InstallTests {
  @Test func cAndCxxProgramsBuildAndRun() throws {
    let program = """
      #include <AudioToolbox/AudioToolbox.h>
      #include <CoreFoundation/CoreFoundation.h>
      #include <dispatch/dispatch.h>
      #include <math.h>
      #include <stdio.h>
      #include <string.h>

      static int played;
      static void callback(void *data, AudioQueueRef queue, AudioQueueBufferRef buffer) {
        played += data == &played && queue != NULL && buffer != NULL;
      }

      int main(int argc, char **argv) {
        __block int answer = 0;
        dispatch_queue_t dispatchQueue = dispatch_queue_create("test", NULL);
        dispatch_sync(dispatchQueue, ^{ answer = argc; });
        dispatch_release(dispatchQueue);

        const char *path = argv[1];
        CFURLRef url = CFURLCreateFromFileSystemRepresentation(
            NULL, (const UInt8 *)path, (CFIndex)strlen(path), false);
        AudioFileID file;
        OSStatus status = AudioFileOpenURL(url, kAudioFileReadPermission, 0, &file);
        CFRelease(url);
        if (status) return 1;
        AudioStreamBasicDescription format;
        UInt32 size = sizeof format;
        if (AudioFileGetProperty(file, kAudioFilePropertyDataFormat, &size, &format)) return 2;

        AudioQueueRef queue;
        AudioQueueBufferRef buffer;
        if (AudioQueueNewOutput(&format, callback, &played, CFRunLoopGetCurrent(),
                                kCFRunLoopCommonModes, 0, &queue))
          return 3;
        if (AudioQueueAllocateBuffer(queue, 4096, &buffer)) return 4;
        UInt32 bytes = 4096, packets = 4096 / format.mBytesPerPacket;
        if (AudioFileReadPacketData(file, false, &bytes, NULL, 0, &packets, buffer->mAudioData))
          return 5;
        buffer->mAudioDataByteSize = bytes;
        if (AudioQueueEnqueueBuffer(queue, buffer, 0, NULL)) return 6;
        UInt32 ready = 0;
        if (AudioQueuePrime(queue, 0, &ready)) return 7;
        if (AudioQueueStop(queue, true)) return 8;
        if (AudioQueueDispose(queue, true)) return 9;
        if (AudioFileClose(file)) return 10;
        // Frameworks of Apple's systems have the functions of libm.
        printf("%d %.0f %u %u %d\\n", answer, round(pow(sqrt(format.mSampleRate), argc)), (unsigned)packets,
               (unsigned)ready, played);
        return 0;
      }

      """
    let server = try JackDaemon()
    try Installation.with { installation in
      let file = installation.folder.appendingPathComponent("sound.wav").path
      let made = try run(
        "sox", ["-n", "-r", "48000", "-b", "16", "-c", "2", file, "synth", "0.01"])
      try require(made.status == 0, "\(made.errors)")
      for (suffix, options) in [
        ("c", ["-std=c99"]), ("c", ["-std=c17"]), ("cpp", ["-std=c++11"]), ("cpp", ["-std=c++20"]),
      ] {
        let result = try installation.run(
          program, [file], suffix: suffix, options: options,
          environment: ["JACK_DEFAULT_SERVER": server.name])
        expectTrue(
          result.status == 0 && result.output == "2 48000 480 480 1\n",
          "\(options) \(result.status) \(result.output)\(result.errors)")
      }
    }
  }

  /// The installed headers are those of the sources, which `HeadersTests` compiles each alone.
  @Test func theInstalledHeadersAreThoseOfTheSources() throws {
    try Installation.with { installation in
      let installed = installation.prefix.appendingPathComponent("include/cuejack")
      let headers = try PublicHeaders.names(in: installed)
      expectTrue(headers.contains("AudioToolbox/AudioToolbox.h"))
      try expectEqual(headers, PublicHeaders.names())
      for header in headers {
        expectTrue(
          FileManager.default.contentsEqual(
            atPath: installed.appendingPathComponent(header).path,
            andPath: PublicHeaders.folder.appendingPathComponent(header).path), "\(header)")
      }
    }
  }

  /// The library and the command load without the build folder, also after they were moved.
  @Test func theLibraryFindsWhatItNeeds() throws {
    try Installation.with { installation in
      for name in ["lib/libAudioToolbox.so", "bin/cuejack"] {
        let file = installation.prefix.appendingPathComponent(name).path
        let needs = try run("ldd", [file], environment: ["LD_LIBRARY_PATH": ""])
        expectEqual(needs.status, 0)
        expectTrue(!needs.output.contains("not found"), "\(name)\n\(needs.output)")
        let path = try run("readelf", ["-d", file])
        expectTrue(path.output.contains("(NEEDED)"))
        expectTrue(!path.output.contains(builtProducts.path), "\(name)\n\(path.output)")
      }
      let help = try run(
        installation.prefix.appendingPathComponent("bin/cuejack").path, ["--help"])
      expectEqual(help.status, 0, "\(help.errors)")
    }
  }

  /// The installed command runs on a machine without a Swift toolchain; its runtime is linked into it.
  /// The library shares Swift's runtime and Core Foundation with the programs that call it.
  @Test(.enabled(if: !isSanitized)) func onlyTheLibraryNeedsTheToolchain() throws {
    let runtime = ["libswift", "Foundation", "libdispatch", "libBlocksRuntime"]
    let toolchain = try SwiftToolchain().folder.path
    try Installation.with { installation in
      func dynamicSection(_ name: String) throws -> String {
        let file = installation.prefix.appendingPathComponent(name).path
        let result = try run("readelf", ["-d", file])
        try require(result.status == 0 && result.output.contains("(NEEDED)"), "\(result.errors)")
        return result.output
      }
      let command = try dynamicSection("bin/cuejack")
      for part in runtime + [toolchain] { expectTrue(!command.contains(part), "\(command)") }
      let library = try dynamicSection("lib/libAudioToolbox.so")
      for part in ["libswiftCore.so", "libFoundation.so"] {
        expectTrue(library.contains("[\(part)]"), "\(library)")
      }
      let all = try run(
        "ldd", [installation.prefix.appendingPathComponent("bin/cuejack").path],
        environment: ["LD_LIBRARY_PATH": ""])
      expectTrue(all.status == 0 && !all.output.contains("not found"), "\(all)")
      for part in runtime + [toolchain] { expectTrue(!all.output.contains(part), "\(all.output)") }
    }
  }

  /// A program loads FFmpeg's libraries with the first file that needs them, not when it starts.
  @Test func theCommandLoadsFFmpegWhenAFileNeedsIt() throws {
    try Installation.with { installation in
      let plain = installation.folder.appendingPathComponent("sound.wav").path
      let frames = installation.folder.appendingPathComponent("sound.flac").path
      let packets = installation.folder.appendingPathComponent("sound.ogg").path
      for file in [plain, frames, packets] {
        let made = try run("sox", ["-n", "-r", "48000", "-b", "16", file, "synth", "0.1"])
        try require(made.status == 0, "\(made.errors)")
      }
      for name in ["bin/cuejack", "lib/libAudioToolbox.so"] {
        let needs = try run(
          "readelf", ["-d", installation.prefix.appendingPathComponent(name).path])
        expectTrue(
          needs.output.contains("libsndfile") && !needs.output.contains("libav"), "\(name)")
      }
      for (file, loads) in [(plain, false), (frames, false), (packets, true)] {
        // The dynamic linker writes each library that it looks for.
        let info = try run(
          installation.prefix.appendingPathComponent("bin/cuejack").path, ["info", file],
          environment: ["LD_LIBRARY_PATH": "", "LD_DEBUG": "libs"])
        expectTrue(info.status == 0 && info.output.contains("48000"), "\(info)")
        expectTrue(info.errors.contains("find library=libsndfile"))
        expectEqual(info.errors.contains("find library=libavformat"), loads, "\(file)")
      }
    }
  }

  @Test func uninstallLeavesNoFile() throws {
    try withTemporaryFolder { root in
      for target in ["install", "uninstall"] {
        let made = try run(
          "make",
          [target, "PREFIX=/usr", "DESTDIR=\(root.path)", "BUILT=\(builtProducts.path)"],
          folder: repository)
        expectEqual(made.status, 0, "\(made.errors)")
        let files = FileManager.default.enumerator(
          at: root, includingPropertiesForKeys: [.isRegularFileKey])?
          .compactMap { $0 as? URL }
          .filter { (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true }
        expectEqual((files?.isEmpty == true), (target == "uninstall"), "\(files ?? [])")
        if target == "install" {
          // Programs must not see a prefix inside DESTDIR.
          for name in ["AudioToolbox", "AudioToolbox-swift"] {
            let file = text(of: root.appendingPathComponent("usr/lib/pkgconfig/\(name).pc"))
            expectTrue(file.contains("prefix=/usr\n") && !file.contains("@"), "\(name)")
          }
          // A complete bundle has a library and at least a manifest.
          let bundles = root.appendingPathComponent("usr/lib/lv2")
          let names = try FileManager.default.contentsOfDirectory(atPath: bundles.path)
          expectEqual(names.count, 12, "\(names)")
          for name in names {
            let folder = bundles.appendingPathComponent(name)
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            expectTrue(files.contains { $0.hasSuffix(".so") } && files.contains("manifest.ttl"))
          }
        }
      }
    }
  }
}
