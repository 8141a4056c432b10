import System
import Timeline

/// The D-Bus object of a player: the interfaces of MPRIS, as `playerctl`, media keys and desktops use them. They act
/// through the addresses of remote control.
struct MediaObject {
  static let path = "/org/mpris/MediaPlayer2"
  static let root = "org.mpris.MediaPlayer2"
  static let player = "org.mpris.MediaPlayer2.Player"
  static let properties = "org.freedesktop.DBus.Properties"

  let target: any RemoteTarget
  var state = MediaState()

  /// Why a call fails: the name of a D-Bus error and a text.
  struct Failure: Error {
    let name: String
    let text: String

    static func invalid(_ text: String) -> Failure {
      Failure(name: "org.freedesktop.DBus.Error.InvalidArgs", text: text)
    }
  }

  // MARK: Properties

  /// The position in the file in microseconds of its sound.
  var position: Int64 {
    let seconds = target.remoteValues(at: "/cuejack/position")?.first?.number ?? 0
    return microseconds(max(0, (seconds - state.begin) * state.rate))
  }

  private func microseconds(_ seconds: Double) -> Int64 {
    Int64(held: (seconds * 1_000_000).rounded())
  }

  private var trackPath: String { "/org/cuejack/track/\(state.track)" }

  private var metadata: [String: BusValue] {
    var table: [String: BusValue] = [
      "mpris:trackid": .object(trackPath), "xesam:title": .string(state.title),
    ]
    table["mpris:length"] = state.length.map { .int(microseconds($0)) }
    table["xesam:artist"] = state.artist.map { .strings([$0]) }
    table["xesam:album"] = state.album.map { .string($0) }
    table["xesam:url"] = state.path.map { .string(fileURL($0)) }
    return table
  }

  /// Returns the range of a parameter; nil if the player does not have it.
  private func range(of parameter: String) -> ClosedRange<Double>? {
    let node = target.remoteNodes.first { $0.address == "/cuejack/\(parameter)" }
    guard let lowest = node?.lowest, let highest = node?.highest else { return nil }
    return lowest...highest
  }

  /// The properties of an interface that change with the state, and those that do not; nil if there is no such
  /// interface.
  func values(of interface: String) -> [String: BusValue]? {
    switch interface {
    case Self.root:
      [
        "CanQuit": .bool(true), "CanRaise": .bool(false), "HasTrackList": .bool(false),
        "Identity": .string("Cuejack"), "SupportedUriSchemes": .strings([]),
        "SupportedMimeTypes": .strings([]),
      ]
    case Self.player:
      changing.merging([
        "Position": .int(position), "CanPlay": .bool(true), "CanPause": .bool(true),
        "CanSeek": .bool(true), "CanControl": .bool(true),
      ]) { $1 }
    default: nil
    }
  }

  /// The properties of the player whose changes are signalled.
  var changing: [String: BusValue] {
    let rates = range(of: "rate") ?? state.rate...state.rate
    return [
      "PlaybackStatus": .string(state.status.rawValue),
      "LoopStatus": .string(state.isLooping ? (state.isSequence ? "Playlist" : "Track") : "None"),
      "Rate": .double(state.rate), "Metadata": .table(metadata),
      "Volume": .double(Double(factor(decibels: state.gain))),
      "MinimumRate": .double(rates.lowerBound),
      "MaximumRate": .double(rates.upperBound),
      "CanGoNext": .bool(state.isSequence), "CanGoPrevious": .bool(state.isSequence),
    ]
  }

  // MARK: Calls

  /// Answers a method call; nil if there is no such method.
  func answer(_ call: BusMessage) throws(Failure) -> [BusValue]? {
    switch (call.interface, call.member) {
    case ("org.freedesktop.DBus.Introspectable", "Introspect"): return [.string(Self.description)]
    case (Self.root, "Raise"): return []
    case (Self.root, "Quit"): try perform("quit")
    case (Self.player, "PlayPause"): try perform("pause")
    case (Self.player, "Play"): try perform("start")
    case (Self.player, "Pause"):
      if state.status == .playing { try perform("pause") }
    case (Self.player, "Stop"): try perform("stop")
    case (Self.player, "Next"): try perform("next")
    case (Self.player, "Previous"): try perform("previous")
    case (Self.player, "Seek"):
      guard let offset = call.readNumber() else { throw .invalid("Seek takes microseconds") }
      try seek(to: Double(position) + offset)
    case (Self.player, "SetPosition"):
      guard let track = call.readText(), let position = call.readNumber() else {
        throw .invalid("SetPosition takes a track and microseconds")
      }
      // Another track than the present one, and positions outside it, are ignored, as MPRIS says.
      let isInside = state.length.map { position <= $0 * 1_000_000 } ?? true
      if track == trackPath, position >= 0, isInside { try seek(to: position) }
    case (Self.player, "OpenUri"):
      throw Failure(
        name: "org.freedesktop.DBus.Error.NotSupported",
        text: "the files of cuejack are those of its command line")
    case (Self.properties, "Set"):
      guard let interface = call.readText(), let name = call.readText(), call.enterVariant() else {
        throw .invalid("Set takes an interface, a property and a value")
      }
      try set(name, of: interface, from: call)
    default: return nil
    }
    return []
  }

  /// Returns the answer to a question for properties; nil if the call is none.
  func read(_ call: BusMessage) throws(Failure) -> Answer? {
    guard call.interface == Self.properties, call.member == "Get" || call.member == "GetAll" else {
      return nil
    }
    guard let interface = call.readText(), let values = values(of: interface) else {
      throw Failure(
        name: "org.freedesktop.DBus.Error.UnknownInterface", text: "there is no such interface")
    }
    if call.member == "GetAll" { return .all(values) }
    guard let name = call.readText(), let value = values[name] else {
      throw Failure(
        name: "org.freedesktop.DBus.Error.UnknownProperty", text: "there is no such property")
    }
    return .one(value)
  }

  /// The answer to a question for properties.
  enum Answer {
    case one(BusValue)
    case all([String: BusValue])
  }

  private func seek(to microseconds: Double) throws(Failure) {
    try perform(
      "locate", [.double(state.begin + max(0, microseconds) / 1_000_000 / state.rate)])
  }

  private func set(_ name: String, of interface: String, from call: BusMessage) throws(Failure) {
    switch (interface, name) {
    case (Self.player, "Volume"):
      guard let volume = call.readNumber() else { throw .invalid("Volume takes a number") }
      guard let range = range(of: "gain") else { return }
      let gain = decibels(volume).map { min(max($0, range.lowerBound), range.upperBound) }
      try change("gain", to: .float(Float(gain ?? range.lowerBound)))
    case (Self.player, "Rate"):
      guard let rate = call.readNumber() else { throw .invalid("Rate takes a number") }
      // MPRIS: a rate of 0 is a pause.
      if rate == 0 {
        if state.status == .playing { try perform("pause") }
      } else {
        try change("rate", to: .float(Float(rate)))
      }
    case (Self.player, "LoopStatus"):
      guard let status = call.readText(), ["None", "Track", "Playlist"].contains(status) else {
        throw .invalid("LoopStatus takes None, Track or Playlist")
      }
      try change("loop", to: .bool(status != "None"))
    default:
      throw Failure(
        name: "org.freedesktop.DBus.Error.PropertyReadOnly", text: "\(name) cannot be set")
    }
  }

  // MARK: Remote control

  /// Seconds after which a call is answered though the command has not carried it out.
  private static let patience = 2.0

  private func perform(_ action: String, _ values: [OSCValue] = []) throws(Failure) {
    try follow { () throws(RemoteError) in try target.perform("/cuejack/\(action)", values) }
  }

  private func change(_ parameter: String, to value: OSCValue) throws(Failure) {
    try follow { () throws(RemoteError) in
      try target.setRemote("/cuejack/\(parameter)", to: [value])
    }
  }

  private func follow(_ body: () throws(RemoteError) -> RemoteWork?) throws(Failure) {
    do throws(RemoteError) {
      if case .failure(let error) = try body()?.outcome(within: Self.patience) { throw error }
    } catch {
      let text = if case .refused(_, let reason) = error { reason } else { "\(error)" }
      throw Failure(name: "org.freedesktop.DBus.Error.Failed", text: text)
    }
  }

  // MARK: Description

  /// The interfaces in the XML of D-Bus.
  private static var description: String {
    func methods(_ names: [String]) -> String {
      names.map { "<method name=\"\($0)\"/>" }.joined()
    }
    func properties(_ types: [(String, String)], _ access: String) -> String {
      types.map { "<property name=\"\($0)\" type=\"\($1)\" access=\"\(access)\"/>" }.joined()
    }
    let standard = [
      (
        "Introspectable", "<method name=\"Introspect\"><arg type=\"s\" direction=\"out\"/></method>"
      ),
      (
        "Properties",
        "<method name=\"Get\"><arg type=\"s\" direction=\"in\"/><arg type=\"s\" direction=\"in\"/>"
          + "<arg type=\"v\" direction=\"out\"/></method>"
          + "<method name=\"GetAll\"><arg type=\"s\" direction=\"in\"/><arg type=\"a{sv}\" direction=\"out\"/></method>"
          + "<method name=\"Set\"><arg type=\"s\" direction=\"in\"/><arg type=\"s\" direction=\"in\"/>"
          + "<arg type=\"v\" direction=\"in\"/></method>"
          + "<signal name=\"PropertiesChanged\"><arg type=\"s\"/><arg type=\"a{sv}\"/><arg type=\"as\"/></signal>"
      ),
    ].map { "<interface name=\"org.freedesktop.DBus.\($0)\">\($1)</interface>" }.joined()
    let root =
      methods(["Raise", "Quit"])
      + properties(
        [
          ("CanQuit", "b"), ("CanRaise", "b"), ("HasTrackList", "b"), ("Identity", "s"),
          ("SupportedUriSchemes", "as"), ("SupportedMimeTypes", "as"),
        ], "read")
    let player =
      methods(["Next", "Previous", "Pause", "PlayPause", "Stop", "Play"])
      + "<method name=\"Seek\"><arg type=\"x\" direction=\"in\"/></method>"
      + "<method name=\"SetPosition\"><arg type=\"o\" direction=\"in\"/><arg type=\"x\" direction=\"in\"/></method>"
      + "<method name=\"OpenUri\"><arg type=\"s\" direction=\"in\"/></method>"
      + "<signal name=\"Seeked\"><arg type=\"x\"/></signal>"
      + properties([("LoopStatus", "s"), ("Rate", "d"), ("Volume", "d")], "readwrite")
      + properties(
        [
          ("PlaybackStatus", "s"), ("Metadata", "a{sv}"), ("MinimumRate", "d"),
          ("MaximumRate", "d"), ("CanGoNext", "b"), ("CanGoPrevious", "b"), ("CanPlay", "b"),
          ("CanPause", "b"), ("CanSeek", "b"), ("CanControl", "b"),
        ], "read")
      + "<property name=\"Position\" type=\"x\" access=\"read\">"
      + "<annotation name=\"org.freedesktop.DBus.Property.EmitsChangedSignal\" value=\"false\"/></property>"
    return "<node>\(standard)<interface name=\"\(Self.root)\">\(root)</interface>"
      + "<interface name=\"\(Self.player)\">\(player)</interface></node>"
  }
}
