/// A place or a direction: x to the right, y upwards, z towards the back, in metres.
public struct AVAudio3DPoint: Sendable, Equatable {
  /// To the right.
  public var x: Float
  /// Upwards.
  public var y: Float
  /// Towards the back.
  public var z: Float
  /// The origin.
  public init() { self.init(x: 0, y: 0, z: 0) }
  /// A place by its coordinates.
  public init(x: Float, y: Float, z: Float) { (self.x, self.y, self.z) = (x, y, z) }
}

extension AVAudio3DPoint {
  static func - (a: Self, b: Self) -> Self { Self(x: a.x - b.x, y: a.y - b.y, z: a.z - b.z) }
  func dot(_ other: Self) -> Float { x * other.x + y * other.y + z * other.z }
  func cross(_ other: Self) -> Self {
    Self(
      x: y * other.z - z * other.y, y: z * other.x - x * other.z, z: x * other.y - y * other.x)
  }
  var length: Float { dot(self).squareRoot() }
  /// The same place with 0 for coordinates that are no numbers, or further away than sounds are.
  var held: Self {
    func held(_ value: Float) -> Float { value.isFinite ? min(max(value, -1e6), 1e6) : 0 }
    return Self(x: held(x), y: held(y), z: held(z))
  }
}
