import CSndfile

/// The role of a channel in a file.
package enum ChannelRole: String, CaseIterable, CustomStringConvertible, Sendable {
  case mono
  case left, right, centre, lowFrequency
  case leftSurround, rightSurround
  case leftOfCentre, rightOfCentre
  case centreSurround
  case leftSide, rightSide
  case top
  case topFrontLeft, topFrontCentre, topFrontRight
  case topRearLeft, topRearCentre, topRearRight
  case ambisonicW, ambisonicX, ambisonicY, ambisonicZ

  /// Name of the role.
  package var description: String {
    switch self {
    case .mono: "mono"
    case .left: "left"
    case .right: "right"
    case .centre: "centre"
    case .lowFrequency: "low frequencies"
    case .leftSurround: "left surround"
    case .rightSurround: "right surround"
    case .leftOfCentre: "left of centre"
    case .rightOfCentre: "right of centre"
    case .centreSurround: "centre surround"
    case .leftSide: "left side"
    case .rightSide: "right side"
    case .top: "top"
    case .topFrontLeft: "top front left"
    case .topFrontCentre: "top front centre"
    case .topFrontRight: "top front right"
    case .topRearLeft: "top rear left"
    case .topRearCentre: "top rear centre"
    case .topRearRight: "top rear right"
    case .ambisonicW: "ambisonic W"
    case .ambisonicX: "ambisonic X"
    case .ambisonicY: "ambisonic Y"
    case .ambisonicZ: "ambisonic Z"
    }
  }

  /// Creates the role for one of libsndfile's channel map constants; nil if it has no role.
  init?(libsndfile value: Int) {
    switch value {
    case SF_CHANNEL_MAP_MONO: self = .mono
    case SF_CHANNEL_MAP_LEFT, SF_CHANNEL_MAP_FRONT_LEFT: self = .left
    case SF_CHANNEL_MAP_RIGHT, SF_CHANNEL_MAP_FRONT_RIGHT: self = .right
    case SF_CHANNEL_MAP_CENTER, SF_CHANNEL_MAP_FRONT_CENTER: self = .centre
    case SF_CHANNEL_MAP_LFE: self = .lowFrequency
    case SF_CHANNEL_MAP_REAR_LEFT: self = .leftSurround
    case SF_CHANNEL_MAP_REAR_RIGHT: self = .rightSurround
    case SF_CHANNEL_MAP_REAR_CENTER: self = .centreSurround
    case SF_CHANNEL_MAP_FRONT_LEFT_OF_CENTER: self = .leftOfCentre
    case SF_CHANNEL_MAP_FRONT_RIGHT_OF_CENTER: self = .rightOfCentre
    case SF_CHANNEL_MAP_SIDE_LEFT: self = .leftSide
    case SF_CHANNEL_MAP_SIDE_RIGHT: self = .rightSide
    case SF_CHANNEL_MAP_TOP_CENTER: self = .top
    case SF_CHANNEL_MAP_TOP_FRONT_LEFT: self = .topFrontLeft
    case SF_CHANNEL_MAP_TOP_FRONT_CENTER: self = .topFrontCentre
    case SF_CHANNEL_MAP_TOP_FRONT_RIGHT: self = .topFrontRight
    case SF_CHANNEL_MAP_TOP_REAR_LEFT: self = .topRearLeft
    case SF_CHANNEL_MAP_TOP_REAR_CENTER: self = .topRearCentre
    case SF_CHANNEL_MAP_TOP_REAR_RIGHT: self = .topRearRight
    case SF_CHANNEL_MAP_AMBISONIC_B_W: self = .ambisonicW
    case SF_CHANNEL_MAP_AMBISONIC_B_X: self = .ambisonicX
    case SF_CHANNEL_MAP_AMBISONIC_B_Y: self = .ambisonicY
    case SF_CHANNEL_MAP_AMBISONIC_B_Z: self = .ambisonicZ
    default: return nil
    }
  }
}
