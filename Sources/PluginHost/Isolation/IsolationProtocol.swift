import Logging

/// A line of JSON from a plugin's process: an answer or a message in between.
enum IsolationLine: Codable {
  case reply(IsolationReply)
  case log(Logger.Level, String)
  /// Parameter values that the plugin reported.
  case parameters([String: ParameterValue])
  /// The binding of a controller that was learned.
  case learned(MIDIBinding)
}
