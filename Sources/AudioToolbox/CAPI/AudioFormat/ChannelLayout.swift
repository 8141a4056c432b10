package import CAudioToolbox
package import Files

/// The value of an AudioChannelLayout, a C structure of variable length.
package struct ChannelLayout: Equatable, Sendable {
  /// An AudioChannelDescription.
  package struct Description: Equatable, BitwiseCopyable, Sendable {
    var label: AudioChannelLabel
    var flags: UInt32 = 0
    /// The bit patterns of the coordinates. They are preserved exactly, NaN included.
    var x: UInt32 = 0
    var y: UInt32 = 0
    var z: UInt32 = 0
  }

  package let tag: AudioChannelLayoutTag
  /// The channel bitmap; 0 unless the tag requires it.
  let bitmap: UInt32
  /// The channel descriptions; empty unless the tag requires them.
  let descriptions: [Description]

  /// Size in bytes of the header before the first description.
  private static let headBytes =
    MemoryLayout<AudioChannelLayout>.size - MemoryLayout<AudioChannelDescription>.size

  /// Parses a layout. Ignores the fields that its tag does not require; they may be missing.
  ///
  /// Nil if there are fewer bytes than the layout needs.
  package init?(_ bytes: [UInt8]) {
    let head = Self.headBytes
    guard bytes.count >= head else { return nil }
    func word(_ index: Int) -> UInt32 {
      unsafe bytes.withUnsafeBytes {
        unsafe $0.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)
      }
    }
    switch word(0) {
    case kAudioChannelLayoutTag_UseChannelDescriptions:
      let count = Int(word(2))
      guard count <= (bytes.count - head) / MemoryLayout<Description>.stride else { return nil }
      self.init(
        tag: word(0),
        descriptions: (0..<count).map { i in
          let first = 3 + 5 * i
          return Description(
            label: word(first), flags: word(first + 1), x: word(first + 2), y: word(first + 3),
            z: word(first + 4))
        })
    case kAudioChannelLayoutTag_UseChannelBitmap: self.init(tag: word(0), bitmap: word(1))
    case let tag: self.init(tag: tag)
    }
  }

  /// Reads the layout at a C pointer, with as many descriptions as its header says.
  package init?(at layout: UnsafePointer<AudioChannelLayout>) {
    let isDescribed =
      unsafe layout.pointee.mChannelLayoutTag == kAudioChannelLayoutTag_UseChannelDescriptions
    let count = unsafe isDescribed ? Int(layout.pointee.mNumberChannelDescriptions) : 0
    self.init(
      unsafe [UInt8](
        UnsafeRawBufferPointer(
          start: layout, count: Self.headBytes + count * MemoryLayout<Description>.stride)))
  }

  /// Creates the default layout for a channel count.
  package init(channels: Int) {
    switch channels {
    case 1: self.init(tag: kAudioChannelLayoutTag_Mono)
    case 2: self.init(tag: kAudioChannelLayoutTag_Stereo)
    default: self.init(tag: kAudioChannelLayoutTag_DiscreteInOrder | UInt32(channels))
    }
  }

  /// The number of channels in the layout.
  package var channels: Int { Self.channels(tag, bitmap, descriptions: descriptions.count) }

  /// Returns the number of channels in a layout from its header alone.
  static func channels(of head: AudioChannelLayout) -> Int {
    channels(
      head.mChannelLayoutTag, head.mChannelBitmap.rawValue,
      descriptions: Int(head.mNumberChannelDescriptions))
  }

  private static func channels(
    _ tag: AudioChannelLayoutTag, _ bitmap: UInt32, descriptions: Int
  ) -> Int {
    switch tag {
    case kAudioChannelLayoutTag_UseChannelDescriptions: descriptions
    case kAudioChannelLayoutTag_UseChannelBitmap: bitmap.nonzeroBitCount
    default: Int(AudioChannelLayoutTag_GetNumberOfChannels(tag))
    }
  }

  /// Creates the shortest layout for the given channel roles. It uses a well-known tag, a bitmap if
  /// the roles are in bitmap order, or a label per channel.
  package init(roles: [ChannelRole]) {
    switch roles {
    case [.mono], [.centre]: self.init(tag: kAudioChannelLayoutTag_Mono)
    case [.left, .right]: self.init(tag: kAudioChannelLayoutTag_Stereo)
    case [.left, .right, .centre, .lowFrequency, .leftSurround, .rightSurround]:
      self.init(tag: kAudioChannelLayoutTag_MPEG_5_1_A)
    case [.ambisonicW, .ambisonicX, .ambisonicY, .ambisonicZ]:
      self.init(tag: kAudioChannelLayoutTag_Ambisonic_B_Format)
    default:
      let labels = roles.map(\.label)
      // The labels 1 to 18 correspond to the bits 0 to 17.
      let isBitmap =
        labels.allSatisfy { (1...18).contains($0) } && zip(labels, labels.dropFirst()).allSatisfy(<)
      if isBitmap {
        self.init(
          tag: kAudioChannelLayoutTag_UseChannelBitmap,
          bitmap: labels.reduce(0) { $0 | 1 << ($1 - 1) })
      } else {
        self.init(
          tag: kAudioChannelLayoutTag_UseChannelDescriptions,
          descriptions: labels.map { Description(label: $0) })
      }
    }
  }

  package init(
    tag: AudioChannelLayoutTag, bitmap: UInt32 = 0, descriptions: [Description] = []
  ) {
    self.tag = tag
    self.bitmap = bitmap
    self.descriptions = descriptions
  }

  /// The channel roles; nil if they are unknown or one of the labels has no role here.
  package var roles: [ChannelRole]? {
    guard let labels else { return nil }
    let roles = labels.compactMap { label in ChannelRole.allCases.first { $0.label == label } }
    return roles.count == labels.count ? roles : nil
  }

  /// The channels as a speaker bitmap. Nil if they are not a set of speakers in bitmap order.
  var speakers: UInt32? {
    guard let roles else { return nil }
    let labels = roles.map { $0 == .mono ? kAudioChannelLabel_Center : $0.label }
    guard labels.allSatisfy({ (1...18).contains($0) }),
      zip(labels, labels.dropFirst()).allSatisfy({ $0 < $1 })
    else { return nil }
    return labels.reduce(0) { $0 | 1 << ($1 - 1) }
  }

  /// The size of the layout in bytes. At least the size of the C structure, so that it can be read
  /// as one.
  var byteCount: Int {
    Self.headBytes + max(1, descriptions.count) * MemoryLayout<Description>.stride
  }

  /// The layout as 32-bit words.
  var words: [UInt32] {
    [tag, bitmap, UInt32(descriptions.count)]
      + descriptions.flatMap { [$0.label, $0.flags, $0.x, $0.y, $0.z] }
  }

  /// The bytes of the C structure.
  package var bytes: [UInt8] {
    let words = self.words
    let bytes = unsafe words.withUnsafeBytes { unsafe Array($0) }
    return bytes + [UInt8](repeating: 0, count: byteCount - bytes.count)
  }
}

extension ChannelRole {
  /// The Core Audio channel label.
  var label: AudioChannelLabel {
    switch self {
    case .mono: kAudioChannelLabel_Mono
    case .left: kAudioChannelLabel_Left
    case .right: kAudioChannelLabel_Right
    case .centre: kAudioChannelLabel_Center
    case .lowFrequency: kAudioChannelLabel_LFEScreen
    case .leftSurround: kAudioChannelLabel_LeftSurround
    case .rightSurround: kAudioChannelLabel_RightSurround
    case .leftOfCentre: kAudioChannelLabel_LeftCenter
    case .rightOfCentre: kAudioChannelLabel_RightCenter
    case .centreSurround: kAudioChannelLabel_CenterSurround
    case .leftSide: kAudioChannelLabel_LeftSurroundDirect
    case .rightSide: kAudioChannelLabel_RightSurroundDirect
    case .top: kAudioChannelLabel_TopCenterSurround
    case .topFrontLeft: kAudioChannelLabel_VerticalHeightLeft
    case .topFrontCentre: kAudioChannelLabel_VerticalHeightCenter
    case .topFrontRight: kAudioChannelLabel_VerticalHeightRight
    case .topRearLeft: kAudioChannelLabel_TopBackLeft
    case .topRearCentre: kAudioChannelLabel_TopBackCenter
    case .topRearRight: kAudioChannelLabel_TopBackRight
    case .ambisonicW: kAudioChannelLabel_Ambisonic_W
    case .ambisonicX: kAudioChannelLabel_Ambisonic_X
    case .ambisonicY: kAudioChannelLabel_Ambisonic_Y
    case .ambisonicZ: kAudioChannelLabel_Ambisonic_Z
    }
  }
}
