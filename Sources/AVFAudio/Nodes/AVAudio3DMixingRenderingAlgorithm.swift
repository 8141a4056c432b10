/// How an environment places a sound. `stereoPassThrough` leaves the sound as it is; all others are equal-power panning here.
public enum AVAudio3DMixingRenderingAlgorithm: Int, Sendable {
  /// A way to place sounds.
  case equalPowerPanning = 0
  case sphericalHead = 1
  case HRTF = 2
  case soundField = 3
  case stereoPassThrough = 5
  case HRTFHQ = 6
  case auto = 7
}
