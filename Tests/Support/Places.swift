import Foundation

/// Runs `body` with a new, empty folder, and removes it with all it holds.
package func withTemporaryFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
  let folder = try makeTemporaryFolder()
  defer { try? FileManager.default.removeItem(at: folder) }
  return try body(folder)
}

/// The same for tests that suspend.
package func withTemporaryFolder<Result>(_ body: (URL) async throws -> Result) async throws
  -> Result
{
  let folder = try makeTemporaryFolder()
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(folder)
}

/// Makes a new, empty folder that the caller removes.
package func makeTemporaryFolder() throws -> URL {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
    "cuejack-\(UUID().uuidString)", isDirectory: true)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  return folder
}

/// The repository's folder.
package let repository = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// The folder where the products of this build lie: that of the test program itself.
package let builtProducts = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
  .deletingLastPathComponent()

/// A product of this build, such as `cuejack` or `libAudioToolbox.so`.
package func builtProduct(named name: String) throws -> URL {
  let product = builtProducts.appendingPathComponent(name)
  guard FileManager.default.fileExists(atPath: product.path) else {
    throw SupportError("this build has no product \(name) in \(builtProducts.path)")
  }
  return product
}

/// True in a build that a sanitizer watches.
package var isSanitized: Bool {
  dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
    || dlsym(nil, "__rtsan_init") != nil
}

/// The Swift toolchain that `swiftc` in PATH belongs to.
package struct SwiftToolchain: Sendable {
  /// Holds `bin` and `lib/swift`.
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
  /// Headers of CoreFoundation, dispatch and blocks; libraries in `linux` below it.
  package var swiftLibraries: String { folder.appendingPathComponent("lib/swift").path }
  package func tool(_ name: String) -> String { folder.appendingPathComponent("bin/\(name)").path }
}

/// Set by `make proof`: the tests are to take their full length, on the products of the optimised build
/// that lie in this folder.
package var proof: String? { ProcessInfo.processInfo.environment["CUEJACK_PROOF"] }
