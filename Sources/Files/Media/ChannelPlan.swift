package import Codecs
import Timeline

/// How the channels of a sound go into a file of another format: their order, and what becomes of their
/// roles.
package struct ChannelPlan {
  /// For each channel of the file the channel of the sound.
  package private(set) var order: [Int]
  /// The layout for the encoder, as a channel mask of WAVE files; nil for its usual one.
  package private(set) var channelMask: UInt32?
  /// The roles to store in the file; nil if it implies them or has none.
  package private(set) var stored: [ChannelRole]?
  /// One line about roles that the file cannot keep; nil if it keeps them.
  package private(set) var remark: String?

  /// Creates the plan.
  ///
  /// - Parameters:
  ///   - roles: The sound's roles in the order of its channels; nil if they are unknown.
  ///   - format: The file's format, with as many channels.
  package init(_ roles: [ChannelRole]?, to format: StreamFormat, in container: Container) {
    order = Array(0..<format.channels)
    switch format {
    case .pcm: plan(roles, in: container)
    case .packets(let format): plan(roles, format, in: container)
    }
  }

  // MARK: Linear PCM

  private mutating func plan(_ roles: [ChannelRole]?, in container: Container) {
    guard let roles, roles != [.mono], roles != [.left, .right] else {
      stored = roles
      return
    }
    switch container {
    case .caf, .aiff, .aifc: stored = roles
    case .wave, .rf64, .wave64:
      // The channels are in the order of their mask's bits.
      let sorted = Self.sorted(roles)
      guard CAFLayout.speakers(sorted.roles) != nil else { return lose(roles, container) }
      (order, stored) = (sorted.order, sorted.roles)
    default: lose(roles, container)
    }
  }

  private mutating func lose(_ roles: [ChannelRole], _ container: Container) {
    remark = "\(container) files cannot store the roles of the channels: \(Self.list(roles))"
  }

  // MARK: Packets

  private mutating func plan(
    _ roles: [ChannelRole]?, _ format: PacketFormat, in container: Container
  ) {
    let usual = Self.usualRoles(format)
    guard let roles else {
      if format.channels > 2, let usual, format.codec != .flac {
        remark =
          "the channels have no roles; in \(format.codec.name) they become \(Self.list(usual))"
      }
      return
    }
    guard format.channels > 2 else {
      stored = roles
      return
    }
    // The file stores any roles, beside what the packets imply.
    let storesAll = container == .caf || container.isMPEG4
    let sorted = Self.sorted(roles)
    if sorted.roles == usual {
      keep(sorted, format, storesAll)
      if Self.isRead(format, nil) == false { hide(roles, nil, storesAll, container) }
      return
    }
    if format.codec != .aac, takeExact(sorted, roles, format, storesAll, container) { return }
    // The roles that the codec has, if those at the sides are the same as those behind.
    let swapped = Self.sorted(roles.map(\.counterpart))
    if swapped.roles == usual, !storesAll || swapped.order == sorted.order {
      if storesAll { return keep(sorted, format, storesAll) }
      keep(swapped, format, storesAll)
      tell(from: swapped.order.map { roles[$0] }, to: swapped.roles, format)
      return
    }
    // AAC with a layout of its own is less widely read than with a usual one.
    if format.codec == .aac, takeExact(sorted, roles, format, storesAll, container) { return }
    if storesAll {
      keep(sorted, format, storesAll)
      return hide(sorted.roles, usual, storesAll, container)
    }
    if let mask = CAFLayout.speakers(swapped.roles), Self.isRead(format, mask) != nil {
      (order, channelMask, stored) = (swapped.order, mask, swapped.roles)
      tell(from: swapped.order.map { roles[$0] }, to: swapped.roles, format)
      return
    }
    guard let usual else { return lose(roles, container) }
    order = Self.matched(roles, with: usual)
    tell(from: order.map { roles[$0] }, to: usual, format)
  }

  /// Keeps the roles as they are if the encoder takes them.
  private mutating func takeExact(
    _ sorted: (order: [Int], roles: [ChannelRole]), _ roles: [ChannelRole], _ format: PacketFormat,
    _ storesAll: Bool, _ container: Container
  ) -> Bool {
    guard let mask = CAFLayout.speakers(sorted.roles), let isRead = Self.isRead(format, mask)
    else { return false }
    (order, channelMask, stored) = (sorted.order, mask, sorted.roles)
    if !isRead { hide(roles, nil, storesAll, container) }
    return true
  }

  /// Keeps roles. The encoder takes the channels for those of its usual layout.
  private mutating func keep(
    _ sorted: (order: [Int], roles: [ChannelRole]), _ format: PacketFormat, _ storesAll: Bool
  ) {
    (order, stored) = sorted
    // A file stores the roles in the order of the channels in packets.
    guard storesAll, let coded = format.codec.codedOrder(channels: format.channels) else { return }
    stored = coded.map { sorted.roles[$0] }
  }

  /// Tells that players find other roles than these in the packets, or none.
  private mutating func hide(
    _ roles: [ChannelRole], _ others: [ChannelRole]?, _ storesAll: Bool, _ container: Container
  ) {
    guard storesAll else { return lose(roles, container) }
    let instead = others.map(Self.list) ?? "channels without roles"
    remark =
      "only the file's channel layout has the roles \(Self.list(roles)): players that do not read it find "
      + instead
  }

  private mutating func tell(
    from old: [ChannelRole], to new: [ChannelRole], _ format: PacketFormat
  ) {
    let changes = zip(old, new).filter { $0 != $1 }.map { "\($0) becomes \($1)" }
    remark =
      "\(format.codec.name) cannot keep the roles of all channels: \(changes.joined(separator: ", "))"
  }

  /// Prepares an encoder for a layout, to see whether the codec has it.
  ///
  /// - Parameter mask: Nil for the usual layout.
  /// - Returns: True if decoders find the layout in the packets; nil if the encoder refuses it.
  private static func isRead(_ format: PacketFormat, _ mask: UInt32?) -> Bool? {
    // Vorbis has one layout for each number of channels. libavcodec takes others for it.
    if format.codec == .vorbis, mask != nil { return nil }
    // AC-3 has channels at the sides only; libavcodec takes those behind for them.
    if let mask, format.codec == .ac3 || format.codec == .eac3,
      mask & (CAFLayout.speakers([.leftSurround, .rightSurround]) ?? 0) != 0
    {
      return nil
    }
    var options = PacketEncoder.Options()
    options.channelMask = mask
    guard let encoder = try? PacketEncoder(format, options) else { return nil }
    guard format.codec == .aac else { return true }
    // libavcodec reads only some of the layouts that it writes.
    let decoder = try? PacketDecoder(encoder.format, cookie: encoder.cookie)
    return decoder?.channelMask == encoder.channelMask
  }

  /// Returns the roles of the encoder's usual layout.
  private static func usualRoles(_ format: PacketFormat) -> [ChannelRole]? {
    guard let mask = try? PacketEncoder(format).channelMask else { return nil }
    return CAFLayout.roles(speakers: mask)
  }

  /// Assigns each role of a layout the sound's channel with that role, else its counterpart, else one that is
  /// left.
  private static func matched(_ roles: [ChannelRole], with layout: [ChannelRole]) -> [Int] {
    var left = Array(roles.indices)
    var found = [Int?](repeating: nil, count: layout.count)
    for match in [{ $0 == $1 }, { $0.counterpart == $1 }, { _, _ in true }]
      as [(ChannelRole, ChannelRole) -> Bool]
    {
      for (place, role) in layout.enumerated() where found[place] == nil {
        guard let index = left.firstIndex(where: { match(roles[$0], role) }) else { continue }
        found[place] = left.remove(at: index)
      }
    }
    return found.compactMap(\.self)
  }

  /// Returns roles in the order of WAVE files, and the channels that have them.
  private static func sorted(_ roles: [ChannelRole]) -> (order: [Int], roles: [ChannelRole]) {
    let places = CAFLayout.decoded(roles)
    var left = Array(roles.indices)
    let order = places.map { role in
      left.remove(at: left.firstIndex { roles[$0] == role } ?? 0)
    }
    return (order, places)
  }

  private static func list(_ roles: [ChannelRole]) -> String {
    roles.map(\.description).joined(separator: ", ")
  }
}

extension ChannelRole {
  /// The role at the side for one behind and the other way round; the role itself for others.
  fileprivate var counterpart: ChannelRole {
    switch self {
    case .leftSurround: .leftSide
    case .rightSurround: .rightSide
    case .leftSide: .leftSurround
    case .rightSide: .rightSurround
    default: self
    }
  }
}
