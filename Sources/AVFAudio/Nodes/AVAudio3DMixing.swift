/// A direction.
public typealias AVAudio3DVector = AVAudio3DPoint

/// Returns a place by its coordinates.
public func AVAudioMake3DPoint(_ x: Float, _ y: Float, _ z: Float) -> AVAudio3DPoint {
  AVAudio3DPoint(x: x, y: y, z: z)
}

/// Returns a direction by its coordinates.
public func AVAudioMake3DVector(_ x: Float, _ y: Float, _ z: Float) -> AVAudio3DVector {
  AVAudio3DVector(x: x, y: y, z: z)
}

/// Where a listener looks, and where the top of the head points.
public struct AVAudio3DVectorOrientation: Sendable, Equatable {
  /// Where the listener looks.
  public var forward: AVAudio3DVector
  /// Where the top of the head points, at right angles to it.
  public var up: AVAudio3DVector
  /// Ahead, along the negative z axis.
  public init() {
    self.init(
      forward: AVAudio3DVector(x: 0, y: 0, z: -1), up: AVAudio3DVector(x: 0, y: 1, z: 0))
  }
  /// An orientation by its directions.
  public init(forward: AVAudio3DVector, up: AVAudio3DVector) {
    (self.forward, self.up) = (forward, up)
  }
}

/// Where a listener looks, in degrees: to the right, upwards, and tilted to the right.
public struct AVAudio3DAngularOrientation: Sendable, Equatable {
  /// The turn to the right.
  public var yaw: Float
  /// The turn upwards.
  public var pitch: Float
  /// The tilt to the right.
  public var roll: Float
  /// Ahead.
  public init() { self.init(yaw: 0, pitch: 0, roll: 0) }
  /// An orientation by its angles.
  public init(yaw: Float, pitch: Float, roll: Float) {
    (self.yaw, self.pitch, self.roll) = (yaw, pitch, roll)
  }
}

/// A node whose sound an environment places. Only sounds of one channel have a place.
public protocol AVAudio3DMixing: AnyObject {
  /// The place of the sound; the origin at first.
  var position: AVAudio3DPoint { get set }
  /// How the environment places it.
  var renderingAlgorithm: AVAudio3DMixingRenderingAlgorithm { get set }
  /// How much something between softens the sound, -100 to 0 dB. 0 at first.
  var obstruction: Float { get set }
  /// How much a wall softens the sound, -100 to 0 dB. 0 at first.
  var occlusion: Float { get set }
}

extension AVAudio3DMixing {
  private var sound: (any PlacedSound)? { self as? any PlacedSound }

  /// The place of the sound; the origin at first. What is no number counts as 0.
  public var position: AVAudio3DPoint {
    get { sound?.placement.position ?? AVAudio3DPoint() }
    set { sound?.set { $0.position = newValue } }
  }
  /// How the environment places it.
  public var renderingAlgorithm: AVAudio3DMixingRenderingAlgorithm {
    get { sound?.placement.algorithm ?? .equalPowerPanning }
    set { sound?.set { $0.algorithm = newValue } }
  }
  /// How much something between softens the sound, -100 to 0 dB. 0 at first.
  public var obstruction: Float {
    get { sound?.placement.obstruction ?? 0 }
    set { sound?.set { $0.obstruction = newValue } }
  }
  /// How much a wall softens the sound, -100 to 0 dB. 0 at first.
  public var occlusion: Float {
    get { sound?.placement.occlusion ?? 0 }
    set { sound?.set { $0.occlusion = newValue } }
  }
}
