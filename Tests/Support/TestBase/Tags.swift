public import Testing

/// The tags say what a suite needs. The gate runs the suites of a module that have no tags in one process, and each
/// suite with tags in a process of its own.
/// `Tests/Tools/Gates/tests` reads the tags from `@Suite`, where they come first.
extension Tag {
  /// A JACK server.
  @Tag public static var server: Self
  /// PipeWire and WirePlumber.
  @Tag public static var pipeWire: Self
  /// Other programs: tools, or what the suite compiles.
  @Tag public static var program: Self
  /// More than ten seconds.
  @Tag public static var slow: Self
}
