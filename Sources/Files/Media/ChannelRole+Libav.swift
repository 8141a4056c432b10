import CFFmpeg
import Codecs

extension ChannelRole {
  /// libavutil's channel identifier for the role; nil if it has none.
  private var channel: AVChannel? {
    switch self {
    case .mono, .centre: AV_CHAN_FRONT_CENTER
    case .left: AV_CHAN_FRONT_LEFT
    case .right: AV_CHAN_FRONT_RIGHT
    case .lowFrequency: AV_CHAN_LOW_FREQUENCY
    case .leftSurround: AV_CHAN_BACK_LEFT
    case .rightSurround: AV_CHAN_BACK_RIGHT
    case .leftOfCentre: AV_CHAN_FRONT_LEFT_OF_CENTER
    case .rightOfCentre: AV_CHAN_FRONT_RIGHT_OF_CENTER
    case .centreSurround: AV_CHAN_BACK_CENTER
    case .leftSide: AV_CHAN_SIDE_LEFT
    case .rightSide: AV_CHAN_SIDE_RIGHT
    case .top: AV_CHAN_TOP_CENTER
    case .topFrontLeft: AV_CHAN_TOP_FRONT_LEFT
    case .topFrontCentre: AV_CHAN_TOP_FRONT_CENTER
    case .topFrontRight: AV_CHAN_TOP_FRONT_RIGHT
    case .topRearLeft: AV_CHAN_TOP_BACK_LEFT
    case .topRearCentre: AV_CHAN_TOP_BACK_CENTER
    case .topRearRight: AV_CHAN_TOP_BACK_RIGHT
    case .ambisonicW, .ambisonicX, .ambisonicY, .ambisonicZ: nil
    }
  }

  /// Returns the roles of a libavutil layout; nil if it is unspecified, or a channel has no role.
  static func roles(of layout: UnsafePointer<AVChannelLayout>) -> [ChannelRole]? {
    let count = unsafe Int(layout.pointee.nb_channels)
    guard count > 0, count <= 64, unsafe layout.pointee.order != AV_CHANNEL_ORDER_UNSPEC else {
      return nil
    }
    let roles = (0..<count).compactMap { i -> ChannelRole? in
      let channel = unsafe ffmpeg.av_channel_layout_channel_from_index(layout, UInt32(i))
      if count == 1, channel == AV_CHAN_FRONT_CENTER { return .mono }
      return allCases.first { $0 != .mono && $0.channel == channel }
    }
    return roles.count == count ? roles : nil
  }

  /// Sets a libavutil layout to these roles, or to the default layout for `channels` channels.
  static func set(
    _ layout: UnsafeMutablePointer<AVChannelLayout>, to roles: [ChannelRole]?, channels: Int
  ) {
    unsafe ffmpeg.av_channel_layout_uninit(layout)
    var mask: UInt64 = 0
    var last = -1
    for role in roles ?? [] {
      guard let channel = role.channel, channel.rawValue < 63, Int(channel.rawValue) > last else {
        mask = 0
        break
      }
      last = Int(channel.rawValue)
      mask |= 1 << UInt64(channel.rawValue)
    }
    if mask != 0, mask.nonzeroBitCount == channels,
      unsafe ffmpeg.av_channel_layout_from_mask(layout, mask) == 0
    {
      return
    }
    unsafe ffmpeg.av_channel_layout_default(layout, Int32(channels))
  }
}
