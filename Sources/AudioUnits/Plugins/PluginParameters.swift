import PluginHost

extension UnitParameter {
  /// Returns the parameter of a plugin's control input; nil if the host moves that control itself.
  init?(_ port: PluginPort, of plugin: PluginDescription, sampleRate: Double) {
    let mark = port.designation?.split(separator: "#").last
    if mark == "enabled" || mark == "freeWheeling" { return nil }
    let values = port.range(sampleRate: sampleRate)
    let low = values.minimum ?? (port.isToggled ? 0 : min(0, values.default ?? 0))
    let high = max(low, values.maximum ?? max(1, values.default ?? 1))
    self.init(
      id: UInt32(port.index), name: port.name, meaning: Self.meaning(port), range: low...high,
      standard: min(max(values.default ?? low, low), high),
      valueNames: Self.names(port, low...high),
      group: port.group.flatMap { group in
        plugin.groups.firstIndex { $0.uri == group }.map { UInt32($0 + 1) }
      }, isLogarithmic: port.isLogarithmic, isHidden: port.isHidden)
  }

  private static func meaning(_ port: PluginPort) -> Meaning {
    if port.isToggled { return .boolean }
    if port.isEnumeration || port.isInteger && port.unit == nil { return .indexed }
    switch port.unit?.uri?.split(separator: "#").last {
    case "db": return .decibels
    case "hz": return .hertz
    case "s": return .seconds
    case "ms": return .milliseconds
    case "pc": return .percent
    case "semitone12TET": return .semitones
    case "cent": return .cents
    case "oct": return .octaves
    case "degree": return .degrees
    case "bpm": return .beatsPerMinute
    case "beat": return .beats
    case "frame": return .frames
    case "m": return .metres
    case "midiNote": return .midiNote
    case "coef": return .ratio
    default:
      let name = port.unit?.symbol ?? port.unit?.name
      return name.map { .custom($0) } ?? .generic
    }
  }

  /// The names of the values from the least to the most, if each whole number has one.
  private static func names(_ port: PluginPort, _ range: ClosedRange<Float>) -> [String] {
    let count = range.upperBound - range.lowerBound + 1
    guard port.isEnumeration || port.isInteger, count >= 1, count <= 1024 else { return [] }
    let names = (0..<Int(count)).compactMap { step in
      port.scalePoints.first { $0.value == range.lowerBound + Float(step) }?.label
    }
    return names.count == Int(count) ? names : []
  }
}
