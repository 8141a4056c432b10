import AudioUnits
public import Foundation
import RealTime
import Synchronization
import System

/// How a sound gets softer with its distance.
public enum AVAudioEnvironmentDistanceAttenuationModel: Int, Sendable {
  /// A curve: a power, the inverse of the distance, or a straight line.
  case exponential = 1
  case inverse = 2
  case linear = 3
}

/// How sounds get softer with their distance. Any thread.
open class AVAudioEnvironmentDistanceAttenuationParameters: NSObject, @unchecked Sendable {
  private struct Values {
    var model = AVAudioEnvironmentDistanceAttenuationModel.inverse
    var reference: Float = 1
    var maximum: Float = 100_000
    var rolloff: Float = 1
  }
  private let values = Mutex(Values())
  private let changed = Hook<@Sendable () -> Void>()

  override init() {}

  func whenChanged(_ body: @escaping @Sendable () -> Void) { changed.set(body) }

  private func set(_ body: (inout Values) -> Void) {
    values.withLock { body(&$0) }
    changed.function?()
  }

  /// The curve; `inverse` at first.
  public var distanceAttenuationModel: AVAudioEnvironmentDistanceAttenuationModel {
    get { values.withLock { $0.model } }
    set { set { $0.model = newValue } }
  }
  /// The distance in metres up to which sounds are as loud as they are, 1 at first.
  public var referenceDistance: Float {
    get { values.withLock { $0.reference } }
    set { set { $0.reference = newValue.isNaN ? 1 : min(max(newValue, 1e-3), 1e6) } }
  }
  /// The distance in metres from which on sounds get no softer, 100,000 at first.
  public var maximumDistance: Float {
    get { values.withLock { $0.maximum } }
    set { set { $0.maximum = newValue.isNaN ? 100_000 : min(max(newValue, 1e-3), 1e6) } }
  }
  /// How steep the curve is, 1 at first.
  public var rolloffFactor: Float {
    get { values.withLock { $0.rolloff } }
    set { set { $0.rolloff = newValue.isNaN ? 1 : min(max(newValue, 0), 100) } }
  }

  /// Returns the gain at a distance, 0 to 1.
  func gain(at distance: Float) -> Float {
    let values = values.withLock { $0 }
    let reference = values.reference
    let beyond = min(max(distance, reference), max(values.maximum, reference)) - reference
    switch values.model {
    case .inverse: return reference / (reference + values.rolloff * beyond)
    case .exponential: return pow((reference + beyond) / reference, -values.rolloff)
    case .linear:
      let range = max(values.maximum - reference, 1e-3)
      return max(0, 1 - values.rolloff * beyond / range)
    }
  }
}

/// A mixer that places sounds of one channel around a listener, by their direction and their distance. Sounds of more channels
/// are mixed as they are. There is no reverberation.
///
/// A sound has the same power in every direction, half of it on each side straight ahead. Changes take one render.
@safe
open class AVAudioEnvironmentNode: AVAudioNode, AVAudioMixing, MixedNode, MixingNode,
  @unchecked Sendable
{
  private struct Listener {
    var position = AVAudio3DPoint()
    var orientation = AVAudio3DVectorOrientation()
    var volume: Float = 1
  }
  private let listener = Mutex(Listener())
  /// How sounds get softer with their distance.
  public let distanceAttenuationParameters = AVAudioEnvironmentDistanceAttenuationParameters()
  let mixing = MixingSettings()
  var mixer: EngineMixerUnit { unsafe unsafeDowncast(unit, to: EngineMixerUnit.self) }

  /// Creates an environment with one input.
  public init() {
    super.init(unit: Self.make { try EngineMixerUnit("AVAudioEnvironmentNode", inputs: 1) })
    distanceAttenuationParameters.whenChanged { [weak self] in self?.placeAll() }
  }

  /// The place of the listener; the origin at first.
  public var listenerPosition: AVAudio3DPoint {
    get { listener.withLock { $0.position } }
    set { change { $0.position = newValue.held } }
  }

  /// Where the listener looks; along the negative z axis at first.
  public var listenerVectorOrientation: AVAudio3DVectorOrientation {
    get { listener.withLock { $0.orientation } }
    set {
      change {
        $0.orientation = AVAudio3DVectorOrientation(
          forward: newValue.forward.held, up: newValue.up.held)
      }
    }
  }

  /// Where the listener looks, in degrees.
  public var listenerAngularOrientation: AVAudio3DAngularOrientation {
    get {
      let (forward, up) = listener.withLock { ($0.orientation.forward, $0.orientation.up) }
      let yaw = atan2(forward.x, -forward.z)
      let pitch = asin(max(-1, min(1, forward.y / max(forward.length, 1e-6))))
      let level = Self.level(yaw: yaw, pitch: pitch)
      let roll = atan2(up.dot(level.forward.cross(level.up)), up.dot(level.up))
      return AVAudio3DAngularOrientation(
        yaw: yaw * 180 / .pi, pitch: pitch * 180 / .pi, roll: roll * 180 / .pi)
    }
    set {
      func turn(_ degrees: Float) -> Float { degrees.isFinite ? degrees * .pi / 180 : 0 }
      let level = Self.level(yaw: turn(newValue.yaw), pitch: turn(newValue.pitch))
      let right = level.forward.cross(level.up)
      let (sine, cosine) = (sin(turn(newValue.roll)), cos(turn(newValue.roll)))
      let up = AVAudio3DVector(
        x: level.up.x * cosine + right.x * sine, y: level.up.y * cosine + right.y * sine,
        z: level.up.z * cosine + right.z * sine)
      change { $0.orientation = AVAudio3DVectorOrientation(forward: level.forward, up: up) }
    }
  }

  private static func level(yaw: Float, pitch: Float) -> AVAudio3DVectorOrientation {
    AVAudio3DVectorOrientation(
      forward: AVAudio3DVector(
        x: sin(yaw) * cos(pitch), y: sin(pitch), z: -cos(yaw) * cos(pitch)),
      up: AVAudio3DVector(x: -sin(yaw) * sin(pitch), y: cos(pitch), z: cos(yaw) * sin(pitch)))
  }

  private func change(_ body: (inout Listener) -> Void) {
    listener.withLock { body(&$0) }
    placeAll()
  }

  /// The volume of the output, 0 to 1. Changes take one render.
  public var outputVolume: Float {
    get { listener.withLock { $0.volume } }
    set {
      let volume = newValue.isNaN ? 0 : min(max(newValue, 0), 1)
      listener.withLock { $0.volume = volume }
      unsafe mixer.outputLevel.pointee.set(volume: volume)
    }
  }

  /// The first input that is connected to nothing.
  public var nextAvailableInputBus: AVAudioNodeBus { firstFreeInput }

  /// The ways to place sounds that differ: `equalPowerPanning` and `stereoPassThrough`, as numbers.
  public var applicableRenderingAlgorithms: [NSNumber] {
    [AVAudio3DMixingRenderingAlgorithm.equalPowerPanning, .stereoPassThrough].map {
      NSNumber(value: $0.rawValue)
    }
  }

  override var standardFormat: AVAudioFormat { engine?.standardFormat ?? .fallback }

  override func applyOutput(_ format: BusFormat) throws { try mixer.setOutputFormat(format) }

  // MARK: Places

  private func placeAll() { engine?.applySettings(to: self) }

  func level(_ values: MixingSettings.Values, channels: AVAudioChannelCount)
    -> (volume: Float, pan: Float)
  {
    if channels > 1 || values.algorithm == .stereoPassThrough { return (values.volume, values.pan) }
    let (place, looks) = listener.withLock { ($0.position, $0.orientation) }
    let direction = values.position - place
    let distance = direction.length
    let right = looks.forward.cross(looks.up)
    let scale = distance * right.length
    let side = scale > 0 ? min(max(direction.dot(right) / scale, -1), 1) : 0
    let decibels = values.obstruction + values.occlusion
    let gain =
      values.volume * distanceAttenuationParameters.gain(at: distance) * pow(10, decibels / 20)
    let angle = (side + 1) * .pi / 4
    let (left, other) = (gain * cos(angle), gain * sin(angle))
    // The balance that has these two gains.
    let most = max(left, other)
    if most <= 0 { return (0, 0) }
    return (most, other > left ? 1 - left / other : other / left - 1)
  }
}
