public import Testing

/// What a suite needs. Suites without tags run in one process for each module, all others in one of their own.
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
