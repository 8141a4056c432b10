import ArgumentParser
import Codecs
import Files
import RealTime
import Timeline

/// The value of `--remix`: for each new channel a sum of channels.
struct ChannelMatrix: Equatable, Sendable {
  private enum Source: Equatable {
    case number(Int)
    case role(String)
  }
  private struct Term: Equatable {
    var factor: Float
    var source: Source
  }
  private var outputs: [[Term]] = []
  /// The roles of the new channels; empty if none is given.
  private var givenRoles: [ChannelRole] = []

  /// Names that people type, with the roles that they mean, the first one preferred.
  private static let names: [(name: String, roles: [ChannelRole])] = [
    ("L", [.left]), ("R", [.right]), ("C", [.centre]), ("LFE", [.lowFrequency]),
    ("Ls", [.leftSurround, .leftSide]), ("Rs", [.rightSurround, .rightSide]),
    ("Lss", [.leftSide]), ("Rss", [.rightSide]), ("Lc", [.leftOfCentre]), ("Rc", [.rightOfCentre]),
    ("Cs", [.centreSurround]), ("M", [.mono]),
  ]

  static var roleNames: String { names.map(\.name).joined(separator: ", ") }

  private static func roles(_ name: String) -> [ChannelRole]? {
    names.first { $0.name.lowercased() == name.lowercased() }?.roles
  }

  /// Parses a value.
  init(parsing text: String) throws {
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      var sum = word
      if let mark = word.firstIndex(of: "=") {
        let name = word[..<mark].filter { $0 != " " }
        guard let role = Self.roles(name)?.first else {
          throw ValidationError(
            "--remix \(text): “\(name)” is no role. There are \(Self.roleNames)")
        }
        givenRoles.append(role)
        sum = word[mark...].dropFirst()
      }
      outputs.append(try Self.terms(sum, of: text))
    }
    try check(
      outputs.count <= PCMFormat.maximumChannels,
      "--remix makes \(outputs.count) channels: \(PCMFormat.maximumChannels) are the most")
    try check(
      givenRoles.isEmpty || givenRoles.count == outputs.count,
      "--remix \(text): give every channel a role, or none")
    try check(
      Set(givenRoles).count == givenRoles.count, "--remix \(text): two channels have one role")
  }

  /// Parses a sum such as `0.5*L+0.5*R`.
  private static func terms(_ text: Substring, of value: String) throws -> [Term] {
    var terms: [Term] = []
    var rest = text
    while let match = rest.prefixMatch(
      of: #/\s*([+-]?)\s*(?:(\d+(?:\.\d*)?|\.\d+)\s*\*\s*)?(\d+|[A-Za-z]+)\s*/#)
    {
      let (_, sign, number, name) = match.output
      guard terms.isEmpty || !sign.isEmpty else { break }
      let factor = number.flatMap { Float($0) } ?? 1
      try check(
        factor <= GainValue.most,
        "--remix \(value): the factor \(number ?? "") is not from 0 to \(GainValue.most)")
      let source: Source
      if let number = Int(name) {
        try check(
          number <= PCMFormat.maximumChannels,
          "--remix \(value): channel \(name) is not from 1 to \(PCMFormat.maximumChannels)")
        source = .number(number)
      } else {
        guard roles(String(name)) != nil else {
          throw ValidationError("--remix \(value): “\(name)” is no role. There are \(roleNames)")
        }
        source = .role(String(name))
      }
      terms.append(Term(factor: sign == "-" ? -factor : factor, source: source))
      rest = rest[match.range.upperBound...]
    }
    guard rest.isEmpty, !terms.isEmpty else {
      throw ValidationError(
        "--remix \(value): “\(text)” is no sum of channels, such as 1, L or 0.5*1+0.5*2")
    }
    return terms
  }

  /// The number of new channels.
  var channels: Int { outputs.count }

  /// Returns the mix for a sound.
  ///
  /// - Parameter roles: The roles of its channels; nil if they are unknown.
  func mix(
    of channels: Int, _ roles: [ChannelRole]?, path: String
  ) throws(SoundFileError) -> ChannelMix {
    let roles = roles ?? [1: [.mono], 2: [.left, .right]][channels]
    var rows = [[Float]](
      repeating: [Float](repeating: 0, count: outputs.count), count: channels)
    for (output, terms) in outputs.enumerated() {
      for term in terms where term.source != .number(0) {
        rows[try Self.index(term.source, channels, roles, path)][output] += term.factor
      }
    }
    let map = outputs.indices.map { output in
      let used = rows.indices.filter { rows[$0][output] != 0 }
      return (
        source: used.first, isPlain: used.isEmpty || used.count == 1 && rows[used[0]][output] == 1
      )
    }
    return map.allSatisfy(\.isPlain) ? .map(map.map(\.source)) : .mix(rows)
  }

  private static func index(
    _ source: Source, _ channels: Int, _ roles: [ChannelRole]?, _ path: String
  ) throws(SoundFileError) -> Int {
    switch source {
    case .number(let number):
      guard number <= channels else {
        throw SoundFileError(
          .notSupported("--remix: there is no channel \(number): it has \(channels)"), path: path)
      }
      return number - 1
    case .role(let name):
      guard let roles else {
        throw SoundFileError(
          .notSupported(
            "--remix: its \(channels) channels have no roles: use numbers instead of \(name)"),
          path: path)
      }
      for role in Self.roles(name) ?? [] {
        if let index = roles.firstIndex(of: role) { return index }
      }
      throw SoundFileError(
        .notSupported(
          "--remix: no channel is \(name): it has \(roles.map(\.description).joined(separator: ", "))"
        ), path: path)
    }
  }

  /// Returns the roles of the new channels: those given, or those of their places in a sound with as many.
  func roles(from roles: [ChannelRole]?) -> [ChannelRole]? {
    if !givenRoles.isEmpty { return givenRoles }
    return channels > 2 && roles?.count == channels ? roles : nil
  }
}

extension ChannelMix {
  /// Returns the mix with its outputs in another order.
  func ordered(_ order: [Int]) -> ChannelMix {
    switch self {
    case .map(let map): .map(order.map { map[$0] })
    case .mix(let rows): .mix(rows.map { row in order.map { row[$0] } })
    }
  }
}
