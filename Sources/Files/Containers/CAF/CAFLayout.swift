/// Core Audio's channel layouts, as stored in 'chan' chunks of CAF files.
enum CAFLayout {
  /// Layouts that have their own tag, with their channels in order. The tag's low 16 bits are the
  /// number of channels.
  private static let tagged: [(tag: UInt32, roles: [ChannelRole])] = [
    (100 << 16 | 1, [.mono]),
    (101 << 16 | 2, [.left, .right]),
    (113 << 16 | 3, [.left, .right, .centre]),
    (114 << 16 | 3, [.centre, .left, .right]),
    (108 << 16 | 4, [.left, .right, .leftSurround, .rightSurround]),
    (115 << 16 | 4, [.left, .right, .centre, .centreSurround]),
    (116 << 16 | 4, [.centre, .left, .right, .centreSurround]),
    (117 << 16 | 5, [.left, .right, .centre, .leftSurround, .rightSurround]),
    (118 << 16 | 5, [.left, .right, .leftSurround, .rightSurround, .centre]),
    (120 << 16 | 5, [.centre, .left, .right, .leftSurround, .rightSurround]),
    (121 << 16 | 6, [.left, .right, .centre, .lowFrequency, .leftSurround, .rightSurround]),
    (122 << 16 | 6, [.left, .right, .leftSurround, .rightSurround, .centre, .lowFrequency]),
    (124 << 16 | 6, [.centre, .left, .right, .leftSurround, .rightSurround, .lowFrequency]),
  ]

  /// Core Audio's channel labels. A label up to 18 also has a bit in channel bitmaps: bit number
  /// label - 1.
  private static let labels: [(label: UInt32, role: ChannelRole)] = [
    (1, .left), (2, .right), (3, .centre), (4, .lowFrequency), (5, .leftSurround),
    (6, .rightSurround), (7, .leftOfCentre), (8, .rightOfCentre), (9, .centreSurround),
    (10, .leftSide), (11, .rightSide), (12, .top), (13, .topFrontLeft), (14, .topFrontCentre),
    (15, .topFrontRight), (16, .topRearLeft), (17, .topRearCentre), (18, .topRearRight),
    (42, .mono), (200, .ambisonicW), (201, .ambisonicX), (202, .ambisonicY), (203, .ambisonicZ),
  ]

  private static let usesBitmap: UInt32 = 1 << 16
  private static let usesDescriptions: UInt32 = 0

  /// Returns the roles stored in a 'chan' chunk; nil if the layout is unknown or has another number
  /// of channels.
  static func roles(_ chunk: [UInt8], channels: Int) -> [ChannelRole]? {
    guard chunk.count >= 12 else { return nil }
    let tag = UInt32(chunk.big(at: 0, bytes: 4))
    var roles: [ChannelRole]?
    switch tag {
    case usesBitmap:
      roles = Self.roles(speakers: UInt32(chunk.big(at: 4, bytes: 4)))
    case usesDescriptions:
      let count = Int(chunk.big(at: 8, bytes: 4))
      guard count == channels, chunk.count >= 12 + 20 * count else { return nil }
      roles = (0..<count).compactMap { i in
        let label = UInt32(chunk.big(at: 12 + 20 * i, bytes: 4))
        return labels.first { $0.label == label }?.role
      }
    default: roles = tagged.first { $0.tag == tag }?.roles
    }
    return roles?.count == channels ? roles : nil
  }

  /// Returns the roles of a channel bitmap.
  static func roles(speakers mask: UInt32) -> [ChannelRole] {
    labels.filter { $0.label <= 18 && mask & 1 << ($0.label - 1) != 0 }.map(\.role)
  }

  /// Returns the 'chan' chunk for roles.
  static func chunk(_ roles: [ChannelRole]) -> [UInt8] {
    words(roles).flatMap { [UInt8]($0, count: 4, bigEndian: true) }
  }

  /// Returns a tag, a bitmap, the number of channel descriptions, and five words for each
  /// description.
  static func words(_ roles: [ChannelRole]) -> [UInt32] {
    if let tag = tagged.first(where: { $0.roles == roles })?.tag { return [tag, 0, 0] }
    return [usesDescriptions, 0, UInt32(roles.count)]
      + roles.flatMap { [label($0) ?? UInt32.max, 0, 0, 0, 0] }
  }

  /// Returns the roles as a channel bitmap; nil if a role has no bit, or the roles are not in bit
  /// order.
  static func speakers(_ roles: [ChannelRole]) -> UInt32? {
    var mask: UInt32 = 0
    for role in roles {
      guard let label = label(role == .mono ? .centre : role), label <= 18, mask >> (label - 1) == 0
      else { return nil }
      mask |= 1 << (label - 1)
    }
    return mask
  }

  /// Returns the roles in the order of decoded channels, which is that of WAVE files.
  static func decoded(_ roles: [ChannelRole]) -> [ChannelRole] {
    roles.sorted { (label($0) ?? .max) < (label($1) ?? .max) }
  }

  private static func label(_ role: ChannelRole) -> UInt32? {
    labels.first { $0.role == role }?.label
  }
}
