import CAudioToolbox
import Files

/// The value of an AudioChannelLayout, whose memory varies in length.
struct ChannelLayout: Equatable {
  let tag: AudioChannelLayoutTag
  let bitmap: UInt32
  let labels: [AudioChannelLabel]

  /// The shortest way to say what the channels are for: a well known layout, a bitmap if they stand
  /// in its order, or a label for each.
  init(roles: [ChannelRole]) {
    switch roles {
    case [.mono], [.centre]: self.init(tag: kAudioChannelLayoutTag_Mono)
    case [.left, .right]: self.init(tag: kAudioChannelLayoutTag_Stereo)
    case [.left, .right, .centre, .lowFrequency, .leftSurround, .rightSurround]:
      self.init(tag: kAudioChannelLayoutTag_MPEG_5_1_A)
    case [.ambisonicW, .ambisonicX, .ambisonicY, .ambisonicZ]:
      self.init(tag: kAudioChannelLayoutTag_Ambisonic_B_Format)
    default:
      let labels = roles.map(\.label)
      // The labels 1 to 18 are the bits 0 to 17.
      let isBitmap =
        labels.allSatisfy { (1...18).contains($0) } && zip(labels, labels.dropFirst()).allSatisfy(<)
      if isBitmap {
        self.init(
          tag: kAudioChannelLayoutTag_UseChannelBitmap,
          bitmap: labels.reduce(0) { $0 | 1 << ($1 - 1) })
      } else {
        self.init(tag: kAudioChannelLayoutTag_UseChannelDescriptions, labels: labels)
      }
    }
  }

  private init(tag: AudioChannelLayoutTag, bitmap: UInt32 = 0, labels: [AudioChannelLabel] = []) {
    self.tag = tag
    self.bitmap = bitmap
    self.labels = labels
  }

  /// Bytes of the layout: never fewer than the struct has, so that it can be read as one.
  var byteCount: Int {
    let head = MemoryLayout<AudioChannelLayout>.size - MemoryLayout<AudioChannelDescription>.size
    return head + max(1, labels.count) * MemoryLayout<AudioChannelDescription>.size
  }

  /// Writes the layout into `byteCount` bytes.
  func write(to memory: UnsafeMutableRawPointer) {
    let head = MemoryLayout<AudioChannelLayout>.size - MemoryLayout<AudioChannelDescription>.size
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    unsafe memory.storeBytes(of: tag, as: UInt32.self)
    unsafe memory.storeBytes(of: bitmap, toByteOffset: 4, as: UInt32.self)
    unsafe memory.storeBytes(of: UInt32(labels.count), toByteOffset: 8, as: UInt32.self)
    for (index, label) in labels.enumerated() {
      let offset = head + index * MemoryLayout<AudioChannelDescription>.size
      unsafe memory.storeBytes(of: label, toByteOffset: offset, as: UInt32.self)
    }
  }
}

extension ChannelRole {
  /// The role in Core Audio's terms.
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
