import Testing

/// Runs the tests. If a file of this name exists, SwiftPM does not look for tests of XCTest, for which it needs an index of
/// every test module: a fifth of their time to compile.
@main struct TestRunner {
  static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
