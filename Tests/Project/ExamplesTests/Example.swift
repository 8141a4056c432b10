import Foundation
import TestSupport
import Testing

/// Calls `body` with a program of `Examples/`, built like its users build it.
func withExample(_ folderName: String, program: String, _ body: (String) throws -> Void) throws {
  try withTemporaryFolder { folder in
    let prefix = folder.appendingPathComponent("installed")
    let installed = try run(
      "make", ["install", "PREFIX=\(prefix.path)", "BUILT=\(builtProducts.path)"],
      folder: repository)
    try #require(installed.status == 0, "\(installed.errors)")
    // A copy, so that the build neither needs nor changes the repository.
    let example = folder.appendingPathComponent(folderName)
    try FileManager.default.copyItem(
      at: repository.appendingPathComponent("Examples/\(folderName)"), to: example)
    let built = try run(
      "make", ["-B"],
      environment: ["PKG_CONFIG_PATH": prefix.appendingPathComponent("lib/pkgconfig").path],
      folder: example)
    try #require(built.status == 0, "\(built.errors)")
    try body(example.appendingPathComponent(program).path)
  }
}
