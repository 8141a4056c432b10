import CAudioToolbox

/// The channels of all tagged layouts, as the short names below, in the order of the tags.
private let tagged: [(tag: AudioChannelLayoutTag, names: String)] = [
  (kAudioChannelLayoutTag_Mono, "M"),
  (kAudioChannelLayoutTag_Stereo, "L R"),
  (kAudioChannelLayoutTag_StereoHeadphones, "HpL HpR"),
  (kAudioChannelLayoutTag_MatrixStereo, "Lt Rt"),
  (kAudioChannelLayoutTag_MidSide, "Mid Side"),
  (kAudioChannelLayoutTag_XY, "XyX XyY"),
  (kAudioChannelLayoutTag_Binaural, "BL BR"),
  (kAudioChannelLayoutTag_Ambisonic_B_Format, "W X Y Z"),
  (kAudioChannelLayoutTag_Quadraphonic, "L R Ls Rs"),
  (kAudioChannelLayoutTag_Pentagonal, "L R Ls Rs C"),
  (kAudioChannelLayoutTag_Hexagonal, "L R Ls Rs C Cs"),
  (kAudioChannelLayoutTag_Octagonal, "L R Ls Rs C Cs Lw Rw"),
  (kAudioChannelLayoutTag_Cube, "L R Ls Rs VL VR TbL TbR"),
  (kAudioChannelLayoutTag_MPEG_3_0_A, "L R C"),
  (kAudioChannelLayoutTag_MPEG_3_0_B, "C L R"),
  (kAudioChannelLayoutTag_MPEG_4_0_A, "L R C Cs"),
  (kAudioChannelLayoutTag_MPEG_4_0_B, "C L R Cs"),
  (kAudioChannelLayoutTag_MPEG_5_0_A, "L R C Ls Rs"),
  (kAudioChannelLayoutTag_MPEG_5_0_B, "L R Ls Rs C"),
  (kAudioChannelLayoutTag_MPEG_5_0_C, "L C R Ls Rs"),
  (kAudioChannelLayoutTag_MPEG_5_0_D, "C L R Ls Rs"),
  (kAudioChannelLayoutTag_MPEG_5_1_A, "L R C LFE Ls Rs"),
  (kAudioChannelLayoutTag_MPEG_5_1_B, "L R Ls Rs C LFE"),
  (kAudioChannelLayoutTag_MPEG_5_1_C, "L C R Ls Rs LFE"),
  (kAudioChannelLayoutTag_MPEG_5_1_D, "C L R Ls Rs LFE"),
  (kAudioChannelLayoutTag_MPEG_6_1_A, "L R C LFE Ls Rs Cs"),
  (kAudioChannelLayoutTag_MPEG_7_1_A, "L R C LFE Ls Rs Lc Rc"),
  (kAudioChannelLayoutTag_MPEG_7_1_B, "C Lc Rc L R Ls Rs LFE"),
  (kAudioChannelLayoutTag_MPEG_7_1_C, "L R C LFE Ls Rs Rls Rrs"),
  (kAudioChannelLayoutTag_Emagic_Default_7_1, "L R Ls Rs C LFE Lc Rc"),
  (kAudioChannelLayoutTag_SMPTE_DTV, "L R C LFE Ls Rs Lt Rt"),
  (kAudioChannelLayoutTag_ITU_2_1, "L R Cs"),
  (kAudioChannelLayoutTag_ITU_2_2, "L R Ls Rs"),
  (kAudioChannelLayoutTag_DVD_4, "L R LFE"),
  (kAudioChannelLayoutTag_DVD_5, "L R LFE Cs"),
  (kAudioChannelLayoutTag_DVD_6, "L R LFE Ls Rs"),
  (kAudioChannelLayoutTag_DVD_10, "L R C LFE"),
  (kAudioChannelLayoutTag_DVD_11, "L R C LFE Cs"),
  (kAudioChannelLayoutTag_DVD_18, "L R Ls Rs LFE"),
  (kAudioChannelLayoutTag_AudioUnit_6_0, "L R Ls Rs C Cs"),
  (kAudioChannelLayoutTag_AudioUnit_7_0, "L R Ls Rs C Rls Rrs"),
  (kAudioChannelLayoutTag_AudioUnit_7_0_Front, "L R Ls Rs C Lc Rc"),
  (kAudioChannelLayoutTag_AAC_6_0, "C L R Ls Rs Cs"),
  (kAudioChannelLayoutTag_AAC_6_1, "C L R Ls Rs Cs LFE"),
  (kAudioChannelLayoutTag_AAC_7_0, "C L R Ls Rs Rls Rrs"),
  (kAudioChannelLayoutTag_AAC_7_1_B, "C L R Ls Rs Rls Rrs LFE"),
  (kAudioChannelLayoutTag_AAC_7_1_C, "C L R Ls Rs LFE VL VR"),
  (kAudioChannelLayoutTag_AAC_Octagonal, "C L R Ls Rs Rls Rrs Cs"),
  (kAudioChannelLayoutTag_TMH_10_2_std, "L R C VC Lsd Rsd Ls Rs VL VR Lw Rw Csd Cs LFE LFE2"),
  (
    kAudioChannelLayoutTag_TMH_10_2_full,
    "L R C VC Lsd Rsd Ls Rs VL VR Lw Rw Csd Cs LFE LFE2 Lc Rc HI VI Hap"
  ),
  (kAudioChannelLayoutTag_AC3_1_0_1, "C LFE"),
  (kAudioChannelLayoutTag_AC3_3_0, "L C R"),
  (kAudioChannelLayoutTag_AC3_3_1, "L C R Cs"),
  (kAudioChannelLayoutTag_AC3_3_0_1, "L C R LFE"),
  (kAudioChannelLayoutTag_AC3_2_1_1, "L R Cs LFE"),
  (kAudioChannelLayoutTag_AC3_3_1_1, "L C R Cs LFE"),
  (kAudioChannelLayoutTag_EAC_6_0_A, "L C R Ls Rs Cs"),
  (kAudioChannelLayoutTag_EAC_7_0_A, "L C R Ls Rs Rls Rrs"),
  (kAudioChannelLayoutTag_EAC3_6_1_A, "L C R Ls Rs LFE Cs"),
  (kAudioChannelLayoutTag_EAC3_6_1_B, "L C R Ls Rs LFE Ts"),
  (kAudioChannelLayoutTag_EAC3_6_1_C, "L C R Ls Rs LFE VC"),
  (kAudioChannelLayoutTag_EAC3_7_1_A, "L C R Ls Rs LFE Rls Rrs"),
  (kAudioChannelLayoutTag_EAC3_7_1_B, "L C R Ls Rs LFE Lc Rc"),
  (kAudioChannelLayoutTag_EAC3_7_1_C, "L C R Ls Rs LFE Lsd Rsd"),
  (kAudioChannelLayoutTag_EAC3_7_1_D, "L C R Ls Rs LFE Lw Rw"),
  (kAudioChannelLayoutTag_EAC3_7_1_E, "L C R Ls Rs LFE VL VR"),
  (kAudioChannelLayoutTag_EAC3_7_1_F, "L C R Ls Rs LFE Cs Ts"),
  (kAudioChannelLayoutTag_EAC3_7_1_G, "L C R Ls Rs LFE Cs VC"),
  (kAudioChannelLayoutTag_EAC3_7_1_H, "L C R Ls Rs LFE Ts VC"),
  (kAudioChannelLayoutTag_DTS_3_1, "C L R LFE"),
  (kAudioChannelLayoutTag_DTS_4_1, "C L R Cs LFE"),
  (kAudioChannelLayoutTag_DTS_6_0_A, "Lc Rc L R Ls Rs"),
  (kAudioChannelLayoutTag_DTS_6_0_B, "C L R Rls Rrs Ts"),
  (kAudioChannelLayoutTag_DTS_6_0_C, "C Cs L R Rls Rrs"),
  (kAudioChannelLayoutTag_DTS_6_1_A, "Lc Rc L R Ls Rs LFE"),
  (kAudioChannelLayoutTag_DTS_6_1_B, "C L R Rls Rrs Ts LFE"),
  (kAudioChannelLayoutTag_DTS_6_1_C, "C Cs L R Rls Rrs LFE"),
  (kAudioChannelLayoutTag_DTS_7_0, "Lc C Rc L R Ls Rs"),
  (kAudioChannelLayoutTag_DTS_7_1, "Lc C Rc L R Ls Rs LFE"),
  (kAudioChannelLayoutTag_DTS_8_0_A, "Lc Rc L R Ls Rs Rls Rrs"),
  (kAudioChannelLayoutTag_DTS_8_0_B, "Lc C Rc L R Ls Cs Rs"),
  (kAudioChannelLayoutTag_DTS_8_1_A, "Lc Rc L R Ls Rs Rls Rrs LFE"),
  (kAudioChannelLayoutTag_DTS_8_1_B, "Lc C Rc L R Ls Cs Rs LFE"),
  (kAudioChannelLayoutTag_DTS_6_1_D, "C L R Ls Rs LFE Cs"),
  (kAudioChannelLayoutTag_WAVE_4_0_B, "L R Rls Rrs"),
  (kAudioChannelLayoutTag_WAVE_5_0_B, "L R C Rls Rrs"),
  (kAudioChannelLayoutTag_WAVE_5_1_B, "L R C LFE Rls Rrs"),
  (kAudioChannelLayoutTag_WAVE_6_1, "L R C LFE Cs Ls Rs"),
  (kAudioChannelLayoutTag_WAVE_7_1, "L R C LFE Rls Rrs Ls Rs"),
  (kAudioChannelLayoutTag_Atmos_5_1_2, "L R C LFE Ls Rs LtM RtM"),
  (kAudioChannelLayoutTag_Atmos_5_1_4, "L R C LFE Ls Rs VL VR LtR RtR"),
  (kAudioChannelLayoutTag_Atmos_7_1_2, "L R C LFE Ls Rs Rls Rrs LtM RtM"),
  (kAudioChannelLayoutTag_Atmos_7_1_4, "L R C LFE Ls Rs Rls Rrs VL VR LtR RtR"),
  (kAudioChannelLayoutTag_Atmos_9_1_6, "L R C LFE Ls Rs Rls Rrs Lw Rw VL VR LtM RtM LtR RtR"),
  (kAudioChannelLayoutTag_Logic_4_0_C, "L R Cs C"),
  (kAudioChannelLayoutTag_Logic_6_0_B, "L R Ls Rs Cs C"),
  (kAudioChannelLayoutTag_Logic_6_1_B, "L R Ls Rs Cs C LFE"),
  (kAudioChannelLayoutTag_Logic_6_1_D, "L C R Ls Cs Rs LFE"),
  (kAudioChannelLayoutTag_Logic_7_1_B, "L R Ls Rs Rls Rrs C LFE"),
  (kAudioChannelLayoutTag_Logic_Atmos_7_1_4_B, "L R Rls Rrs Ls Rs C LFE VL VR LtR RtR"),
  (kAudioChannelLayoutTag_Logic_Atmos_7_1_6, "L R Rls Rrs Ls Rs C LFE VL VR LtM RtM LtR RtR"),
  (
    kAudioChannelLayoutTag_CICP_13,
    "Lc Rc C LFE2 Rls Rrs L R Cs LFE3 Lss Rss VL VR VC Ts LtR RtR LtM RtM CtR Cb Lb Rb"
  ),
  (kAudioChannelLayoutTag_CICP_14, "L R C LFE Ls Rs VL VR"),
  (kAudioChannelLayoutTag_CICP_15, "L R C LFE2 Rls Rrs LFE3 Lss Rss VL VR CtR"),
  (kAudioChannelLayoutTag_CICP_16, "L R C LFE Ls Rs VL VR Lts Rts"),
  (kAudioChannelLayoutTag_CICP_17, "L R C LFE Ls Rs VL VR VC Lts Rts Ts"),
  (kAudioChannelLayoutTag_CICP_18, "L R C LFE Ls Rs Lbs Rbs VL VR VC Lts Rts Ts"),
  (kAudioChannelLayoutTag_CICP_19, "L R C LFE Rls Rrs Lss Rss VL VR LtR RtR"),
  (kAudioChannelLayoutTag_CICP_20, "L R C LFE Rls Rrs Lss Rss VL VR LtR RtR Leos Reos"),
  (kAudioChannelLayoutTag_Ogg_5_0, "L C R Rls Rrs"),
  (kAudioChannelLayoutTag_Ogg_5_1, "L C R Rls Rrs LFE"),
  (kAudioChannelLayoutTag_Ogg_6_1, "L C R Ls Rs Cs LFE"),
  (kAudioChannelLayoutTag_Ogg_7_1, "L C R Ls Rs Rls Rrs LFE"),
  (kAudioChannelLayoutTag_MPEG_5_0_E, "L R Rls Rrs C"),
  (kAudioChannelLayoutTag_MPEG_5_1_E, "L R Rls Rrs C LFE"),
  (kAudioChannelLayoutTag_MPEG_6_1_B, "L R Ls Rs C Cs LFE"),
  (kAudioChannelLayoutTag_MPEG_7_1_D, "L R Rls Rrs Ls Rs C LFE"),
]

/// Channel labels with their short and their long names.
private let named: [(label: AudioChannelLabel, short: String, name: String)] = [
  (kAudioChannelLabel_Left, "L", "Left"),
  (kAudioChannelLabel_Right, "R", "Right"),
  (kAudioChannelLabel_Center, "C", "Center"),
  (kAudioChannelLabel_LFEScreen, "LFE", "LFE Screen"),
  (kAudioChannelLabel_LeftSurround, "Ls", "Left Surround"),
  (kAudioChannelLabel_RightSurround, "Rs", "Right Surround"),
  (kAudioChannelLabel_LeftCenter, "Lc", "Left Center"),
  (kAudioChannelLabel_RightCenter, "Rc", "Right Center"),
  (kAudioChannelLabel_CenterSurround, "Cs", "Center Surround"),
  (kAudioChannelLabel_LeftSurroundDirect, "Lsd", "Left Surround Direct"),
  (kAudioChannelLabel_RightSurroundDirect, "Rsd", "Right Surround Direct"),
  (kAudioChannelLabel_TopCenterSurround, "Ts", "Top Center Surround"),
  (kAudioChannelLabel_VerticalHeightLeft, "VL", "Vertical Height Left"),
  (kAudioChannelLabel_VerticalHeightCenter, "VC", "Vertical Height Center"),
  (kAudioChannelLabel_VerticalHeightRight, "VR", "Vertical Height Right"),
  (kAudioChannelLabel_TopBackLeft, "TbL", "Top Back Left"),
  (kAudioChannelLabel_TopBackCenter, "TbC", "Top Back Center"),
  (kAudioChannelLabel_TopBackRight, "TbR", "Top Back Right"),
  (kAudioChannelLabel_RearSurroundLeft, "Rls", "Rear Surround Left"),
  (kAudioChannelLabel_RearSurroundRight, "Rrs", "Rear Surround Right"),
  (kAudioChannelLabel_LeftWide, "Lw", "Left Wide"),
  (kAudioChannelLabel_RightWide, "Rw", "Right Wide"),
  (kAudioChannelLabel_LFE2, "LFE2", "LFE 2"),
  (kAudioChannelLabel_LeftTotal, "Lt", "Left Total"),
  (kAudioChannelLabel_RightTotal, "Rt", "Right Total"),
  (kAudioChannelLabel_HearingImpaired, "HI", "Hearing Impaired"),
  (kAudioChannelLabel_Narration, "VI", "Narration"),
  (kAudioChannelLabel_Mono, "M", "Mono"),
  (kAudioChannelLabel_DialogCentricMix, "DCM", "Dialog Centric Mix"),
  (kAudioChannelLabel_CenterSurroundDirect, "Csd", "Center Surround Direct"),
  (kAudioChannelLabel_Haptic, "Hap", "Haptic"),
  (kAudioChannelLabel_LeftTopMiddle, "LtM", "Left Top Middle"),
  (kAudioChannelLabel_RightTopMiddle, "RtM", "Right Top Middle"),
  (kAudioChannelLabel_LeftTopRear, "LtR", "Left Top Rear"),
  (kAudioChannelLabel_CenterTopRear, "CtR", "Center Top Rear"),
  (kAudioChannelLabel_RightTopRear, "RtR", "Right Top Rear"),
  (kAudioChannelLabel_LeftSideSurround, "Lss", "Left Side Surround"),
  (kAudioChannelLabel_RightSideSurround, "Rss", "Right Side Surround"),
  (kAudioChannelLabel_LeftBottom, "Lb", "Left Bottom"),
  (kAudioChannelLabel_RightBottom, "Rb", "Right Bottom"),
  (kAudioChannelLabel_CenterBottom, "Cb", "Center Bottom"),
  (kAudioChannelLabel_LeftTopSurround, "Lts", "Left Top Surround"),
  (kAudioChannelLabel_RightTopSurround, "Rts", "Right Top Surround"),
  (kAudioChannelLabel_LFE3, "LFE3", "LFE 3"),
  (kAudioChannelLabel_LeftBackSurround, "Lbs", "Left Back Surround"),
  (kAudioChannelLabel_RightBackSurround, "Rbs", "Right Back Surround"),
  (kAudioChannelLabel_LeftEdgeOfScreen, "Leos", "Left Edge of Screen"),
  (kAudioChannelLabel_RightEdgeOfScreen, "Reos", "Right Edge of Screen"),
  (kAudioChannelLabel_Ambisonic_W, "W", "Ambisonic W"),
  (kAudioChannelLabel_Ambisonic_X, "X", "Ambisonic X"),
  (kAudioChannelLabel_Ambisonic_Y, "Y", "Ambisonic Y"),
  (kAudioChannelLabel_Ambisonic_Z, "Z", "Ambisonic Z"),
  (kAudioChannelLabel_MS_Mid, "Mid", "Mid"),
  (kAudioChannelLabel_MS_Side, "Side", "Side"),
  (kAudioChannelLabel_XY_X, "XyX", "XY X"),
  (kAudioChannelLabel_XY_Y, "XyY", "XY Y"),
  (kAudioChannelLabel_BinauralLeft, "BL", "Binaural Left"),
  (kAudioChannelLabel_BinauralRight, "BR", "Binaural Right"),
  (kAudioChannelLabel_HeadphonesLeft, "HpL", "Headphones Left"),
  (kAudioChannelLabel_HeadphonesRight, "HpR", "Headphones Right"),
  (kAudioChannelLabel_ClickTrack, "Clk", "Click Track"),
  (kAudioChannelLabel_ForeignLanguage, "For", "Foreign Language"),
]

private let labelOfShortName = Dictionary(uniqueKeysWithValues: named.map { ($0.short, $0.label) })

private let labelsOfTags: [(tag: AudioChannelLayoutTag, labels: [AudioChannelLabel])] =
  tagged.map { entry in
    (entry.tag, entry.names.split(separator: " ").compactMap { labelOfShortName[String($0)] })
  }

/// Returns `count` consecutive labels that start with `first`.
private func numbered(_ first: AudioChannelLabel, _ count: Int) -> [AudioChannelLabel] {
  (0..<UInt32(count)).map { first + $0 }
}

extension ChannelLayout {
  /// The label of each channel; nil if the tag is unknown.
  var labels: [AudioChannelLabel]? {
    let count = channels
    switch tag {
    case kAudioChannelLayoutTag_UseChannelDescriptions: return descriptions.map(\.label)
    case kAudioChannelLayoutTag_UseChannelBitmap: return Self.labels(bitmap: bitmap)
    default: break
    }
    switch tag & 0xFFFF_0000 {
    case kAudioChannelLayoutTag_DiscreteInOrder:
      return numbered(kAudioChannelLabel_Discrete_0, count)
    case kAudioChannelLayoutTag_HOA_ACN_SN3D, kAudioChannelLayoutTag_HOA_ACN_N3D:
      return numbered(kAudioChannelLabel_HOA_ACN_0, count)
    case kAudioChannelLayoutTag_Unknown:
      return Array(repeating: kAudioChannelLabel_Unknown, count: count)
    default: return labelsOfTags.first { $0.tag == tag }?.labels
    }
  }

  /// Returns the labels for a bitmap. The bits 0 to 17 map to the labels 1 to 18, and the bits 21
  /// to 26 to labels above 48.
  private static func labels(bitmap: UInt32) -> [AudioChannelLabel] {
    (0..<32).filter { bitmap & 1 << $0 != 0 }.map { bit in
      switch bit {
      case ..<18: AudioChannelLabel(bit + 1)
      case 21...26: AudioChannelLabel(bit + 28)
      default: kAudioChannelLabel_Unknown
      }
    }
  }

  /// The layout with a description per channel; nil if the tag is unknown.
  var described: ChannelLayout? {
    labels.map { labels in
      ChannelLayout(
        tag: kAudioChannelLayoutTag_UseChannelDescriptions,
        descriptions: tag == kAudioChannelLayoutTag_UseChannelDescriptions
          ? descriptions : labels.map { Description(label: $0) })
    }
  }

  /// A hash of the channel labels; nil if the tag is unknown.
  var hash: UInt32? {
    // FNV-1a, which is the same in every run.
    labels?.reduce(2_166_136_261) { hash, label in
      [0, 8, 16, 24].reduce(hash) { ($0 ^ (label >> $1 & 0xFF)) &* 16_777_619 }
    }
  }

  /// The first tag with the same channels in the same order; nil if there is none.
  var matchingTag: AudioChannelLayoutTag? {
    if let labels, let found = labelsOfTags.first(where: { $0.labels == labels }) {
      return found.tag
    }
    guard let labels, !labels.isEmpty else { return nil }
    return labels == numbered(kAudioChannelLabel_Discrete_0, labels.count)
      ? kAudioChannelLayoutTag_DiscreteInOrder | UInt32(labels.count) : nil
  }

  /// Creates the most common layout for a channel count.
  init(commonFor channels: Int) {
    let tag: AudioChannelLayoutTag? =
      switch channels {
      case 3: kAudioChannelLayoutTag_MPEG_3_0_A
      case 4: kAudioChannelLayoutTag_Quadraphonic
      case 5: kAudioChannelLayoutTag_MPEG_5_0_A
      case 6: kAudioChannelLayoutTag_MPEG_5_1_A
      case 7: kAudioChannelLayoutTag_MPEG_6_1_A
      case 8: kAudioChannelLayoutTag_MPEG_7_1_C
      default: nil
      }
    self = tag.map { ChannelLayout(tag: $0) } ?? ChannelLayout(channels: channels)
  }

  /// Returns all tags with a channel count.
  static func tags(channels: Int) -> [AudioChannelLayoutTag] {
    guard (1...64).contains(channels) else { return [] }
    return labelsOfTags.filter { $0.labels.count == channels }.map(\.tag)
      + [kAudioChannelLayoutTag_DiscreteInOrder | UInt32(channels)]
  }

  /// The layout as text, such as "5.1 (L R C LFE Ls Rs)"; nil if the tag is unknown.
  var name: String? {
    guard let labels else { return nil }
    let low = labels.filter { $0 == kAudioChannelLabel_LFEScreen || $0 == kAudioChannelLabel_LFE2 }
    let size =
      switch matchingTag {
      case kAudioChannelLayoutTag_Mono: "Mono"
      case kAudioChannelLayoutTag_Stereo: "Stereo"
      default: "\(labels.count - low.count).\(low.count)"
      }
    return size + " (" + labels.map { Self.name(of: $0, isShort: true) }.joined(separator: " ")
      + ")"
  }

  /// Returns the name of a channel.
  static func name(of label: AudioChannelLabel, isShort: Bool = false) -> String {
    if let entry = named.first(where: { $0.label == label }) {
      return isShort ? entry.short : entry.name
    }
    let number = label & 0xFFFF
    return switch label & 0xFFFF_0000 {
    case kAudioChannelLabel_Discrete_0: isShort ? "\(number + 1)" : "Discrete \(number + 1)"
    case kAudioChannelLabel_HOA_ACN_0: isShort ? "ACN\(number)" : "HOA ACN \(number)"
    default: isShort ? "?" : "Unknown"
    }
  }

  // MARK: Channel maps and mixes

  /// Returns, for each channel of `other`, the channel of this layout with the same label, or nil.
  /// A single centre channel maps to left and right if `other` has no centre.
  ///
  /// Nil if one of the tags is unknown.
  func map(to other: ChannelLayout) -> [Int?]? {
    guard let labels, let wanted = other.labels else { return nil }
    let isMono = labels.count == 1 && Self.middle.contains(labels[0])
    let hasMiddle = wanted.contains { Self.middle.contains($0) }
    return wanted.map { label in
      if let same = labels.firstIndex(of: label) { return same }
      if Self.middle.contains(label) { return labels.firstIndex { Self.middle.contains($0) } }
      let isFront = label == kAudioChannelLabel_Left || label == kAudioChannelLabel_Right
      return isMono && !hasMiddle && isFront ? 0 : nil
    }
  }

  /// For each channel, its port index. The ports are in ascending order of the labels, as in a WAVE
  /// file. Empty if the channels are in that order already, or if a label occurs twice.
  var portOrder: [Int] {
    guard let labels, Set(labels).count == labels.count else { return [] }
    let ports = labels.sorted()
    return ports == labels ? [] : labels.compactMap { ports.firstIndex(of: $0) }
  }

  /// Returns the rendering mix: for each channel of this layout, its gain in each channel of
  /// `other`. A single channel gets two rows, the sides of its balance, if `other` has no centre.
  /// Nil if the layouts determine no mix.
  func renderingMix(to other: ChannelLayout) -> [[Float]]? {
    guard let labels, let wanted = other.labels else { return nil }
    let isSpread = labels.count == 1 && Self.middle.contains(labels[0])
    let source =
      isSpread && wanted.allSatisfy { !Self.middle.contains($0) }
      ? ChannelLayout(tag: kAudioChannelLayoutTag_Stereo) : self
    guard let mix = source.mix(to: other), mix.contains(where: { $0.contains { $0 != 0 } }) else {
      return nil
    }
    return mix
  }

  private static let middle: Set = [kAudioChannelLabel_Center, kAudioChannelLabel_Mono]

  /// Returns the mix matrix: for each channel of this layout, its gain in each channel of `other`.
  ///
  /// A channel that `other` lacks goes to the neighbouring channels at equal power; low frequencies
  /// are dropped. If a channel of `other` could clip, all gains are reduced by the same factor. Nil
  /// if a tag is unknown.
  func mix(to other: ChannelLayout) -> [[Float]]? {
    guard let labels, let wanted = other.labels else { return nil }
    var rows = labels.map { label -> [Float] in
      let destinations = Self.destinations(
        of: label, among: Set(wanted), isAlone: labels.count == 1)
      return wanted.map { target in destinations.first { $0.label == target }?.factor ?? 0 }
    }
    let loudest = wanted.indices.map { column in rows.reduce(0) { $0 + $1[column] } }.max() ?? 0
    if loudest > 1 { rows = rows.map { $0.map { $0 / loudest } } }
    return rows
  }

  private typealias Destination = (label: AudioChannelLabel, factor: Float)

  /// Returns the channels that receive a channel, and their gains.
  private static func destinations(
    of label: AudioChannelLabel, among wanted: Set<AudioChannelLabel>, isAlone: Bool
  ) -> [Destination] {
    let half = Float(0.5).squareRoot()
    func left(_ factor: Float) -> [Destination] { [(kAudioChannelLabel_Left, factor)] }
    func right(_ factor: Float) -> [Destination] { [(kAudioChannelLabel_Right, factor)] }
    func centre(_ factor: Float) -> [[Destination]] {
      [[(kAudioChannelLabel_Center, factor)], [(kAudioChannelLabel_Mono, factor)]]
    }
    // The alternatives, best first. An alternative applies if all of its channels exist.
    let choices: [[Destination]] =
      switch label {
      case kAudioChannelLabel_Center, kAudioChannelLabel_Mono:
        centre(1) + [left(isAlone ? 1 : half) + right(isAlone ? 1 : half)]
      case kAudioChannelLabel_Left: [[(kAudioChannelLabel_HeadphonesLeft, 1)]] + centre(half)
      case kAudioChannelLabel_Right: [[(kAudioChannelLabel_HeadphonesRight, 1)]] + centre(half)
      case kAudioChannelLabel_HeadphonesLeft, kAudioChannelLabel_BinauralLeft,
        kAudioChannelLabel_LeftTotal, kAudioChannelLabel_LeftCenter, kAudioChannelLabel_LeftWide:
        [left(1)] + centre(half)
      case kAudioChannelLabel_HeadphonesRight, kAudioChannelLabel_BinauralRight,
        kAudioChannelLabel_RightTotal, kAudioChannelLabel_RightCenter,
        kAudioChannelLabel_RightWide:
        [right(1)] + centre(half)
      case kAudioChannelLabel_LeftSurround, kAudioChannelLabel_RearSurroundLeft,
        kAudioChannelLabel_LeftSurroundDirect:
        [
          [(kAudioChannelLabel_LeftSurround, 1)], [(kAudioChannelLabel_RearSurroundLeft, 1)],
          [(kAudioChannelLabel_LeftSurroundDirect, 1)],
          [(kAudioChannelLabel_CenterSurround, half)], left(half),
        ] + centre(0.5)
      case kAudioChannelLabel_RightSurround, kAudioChannelLabel_RearSurroundRight,
        kAudioChannelLabel_RightSurroundDirect:
        [
          [(kAudioChannelLabel_RightSurround, 1)], [(kAudioChannelLabel_RearSurroundRight, 1)],
          [(kAudioChannelLabel_RightSurroundDirect, 1)],
          [(kAudioChannelLabel_CenterSurround, half)], right(half),
        ] + centre(0.5)
      case kAudioChannelLabel_CenterSurround, kAudioChannelLabel_CenterSurroundDirect:
        [
          [(kAudioChannelLabel_CenterSurround, 1)],
          [(kAudioChannelLabel_LeftSurround, half), (kAudioChannelLabel_RightSurround, half)],
          [
            (kAudioChannelLabel_RearSurroundLeft, half),
            (kAudioChannelLabel_RearSurroundRight, half),
          ],
          left(0.5) + right(0.5),
        ] + centre(0.5)
      case kAudioChannelLabel_VerticalHeightLeft, kAudioChannelLabel_LeftTopMiddle,
        kAudioChannelLabel_LeftTopRear, kAudioChannelLabel_TopBackLeft:
        [left(half)] + centre(0.5)
      case kAudioChannelLabel_VerticalHeightRight, kAudioChannelLabel_RightTopMiddle,
        kAudioChannelLabel_RightTopRear, kAudioChannelLabel_TopBackRight:
        [right(half)] + centre(0.5)
      case kAudioChannelLabel_VerticalHeightCenter, kAudioChannelLabel_TopCenterSurround,
        kAudioChannelLabel_CenterTopRear, kAudioChannelLabel_TopBackCenter:
        [left(0.5) + right(0.5)] + centre(0.5)
      case kAudioChannelLabel_LFEScreen: [[(kAudioChannelLabel_LFE2, 1)]]
      case kAudioChannelLabel_LFE2: [[(kAudioChannelLabel_LFEScreen, 1)]]
      default: []
      }
    if wanted.contains(label) { return [(label, 1)] }
    return choices.first { $0.allSatisfy { wanted.contains($0.label) } } ?? []
  }
}
