import Foundation
@_exported public import TestBase

/// Runs `body` with a new empty folder, which it removes with its contents afterwards.
package func withTemporaryFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
  let folder = try makeTemporaryFolder()
  defer { try? FileManager.default.removeItem(at: folder) }
  return try body(folder)
}

/// Runs an asynchronous `body` in the same way.
package func withTemporaryFolder<Result>(_ body: (URL) async throws -> Result) async throws
  -> Result
{
  let folder = try makeTemporaryFolder()
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(folder)
}

/// Makes a new, empty folder that the caller removes. It is closed to other users, as XDG_RUNTIME_DIR has to be.
package func makeTemporaryFolder() throws -> URL {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
    "cuejack-\(UUID().uuidString)", isDirectory: true)
  try FileManager.default.createDirectory(
    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  return folder
}

/// The repository's root folder.
package let repository = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent()

/// The folder of this build's products, which contains the test program.
package let builtProducts = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
  .deletingLastPathComponent()

/// Returns a product of this build, such as `cuejack` or `libAudioToolbox.so`.
package func builtProduct(named name: String) throws -> URL {
  let product = builtProducts.appendingPathComponent(name)
  guard FileManager.default.fileExists(atPath: product.path) else {
    throw SupportError("this build has no product \(name) in \(builtProducts.path)")
  }
  return product
}

/// Whether the build uses a sanitizer.
package var isSanitized: Bool {
  dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
    || dlsym(nil, "__rtsan_init") != nil
}

/// The Swift toolchain of the `swiftc` in PATH.
package struct SwiftToolchain: Sendable {
  /// The folder that contains `bin` and `lib/swift`.
  package let folder: URL

  package init() throws {
    let result = try run("swiftc", ["-print-target-info"])
    guard
      let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        as? [String: Any],
      let paths = object["paths"] as? [String: Any],
      let resources = paths["runtimeResourcePath"] as? String
    else { throw SupportError("swiftc does not tell where it is: \(result.errors)") }
    folder = URL(fileURLWithPath: resources).resolvingSymlinksInPath()
      .deletingLastPathComponent().deletingLastPathComponent()
  }

  package var clang: String { tool("clang") }
  /// The folder with the headers of CoreFoundation, dispatch and blocks, and their libraries in
  /// `linux`.
  package var swiftLibraries: String { folder.appendingPathComponent("lib/swift").path }
  package func tool(_ name: String) -> String { folder.appendingPathComponent("bin/\(name)").path }
}

/// The folder of the optimised build's products, set by `make proof`; tests then run at full length on
/// them.
package var proof: String? { ProcessInfo.processInfo.environment["CUEJACK_PROOF"] }
