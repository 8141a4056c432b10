import ArgumentParser
import Control
import System

/// Options for the remote control of a command or session.
struct RemoteOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "UDP port of remote control on this machine; 0 for a free one.", valueName: "port"))
  var port: UInt16 = 0

  @Option(
    help: ArgumentHelp(
      "Take remote control from this host, too: an IPv4 address or a name; any for all hosts. OSC has no "
        + "passwords.", valueName: "host"))
  var remoteHost: String?

  @Flag(help: "Allow no remote control.")
  var noRemote = false

  /// The options that may be given once.
  static let singleOptions = ["--port", "--remote-host"]

  func validate() throws {
    try check(remoteHost == nil || !noRemote, "--remote-host and --no-remote exclude each other")
  }

  /// The first option that was given; nil if none was.
  var given: String? {
    if noRemote { return "--no-remote" }
    return remoteHost == nil ? (port == 0 ? nil : "--port") : "--remote-host"
  }

  /// The port; nil for no remote control.
  var wantedPort: UInt16? { noRemote ? nil : port }

  /// The hosts that may send. Tells of a name that is not known yet; the resolver may take seconds.
  var reach: OSCSocket.Reach {
    guard let remoteHost else { return .loopback }
    let reach = OSCSocket.Reach(host: remoteHost)
    if let name = reach.unknownName {
      Screen.shared.remark(
        "--remote-host: the host “\(printable(name))” is not known yet, or has no IPv4 address: remote control runs "
          + "without it, and looks for it again when packets of other machines come")
    }
    return reach
  }
}
