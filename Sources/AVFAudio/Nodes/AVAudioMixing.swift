public import Foundation

/// A node whose sound a mixer places between left and right.
public protocol AVAudioStereoMixing: AnyObject {
  /// -1, the left side alone, to 1, the right side alone. 0 at first.
  var pan: Float { get set }
}

/// A node whose sound a mixer takes with a volume. Volume and pan are those of the mixer's bus: a tap on the
/// node hears the full sound. They stay when the node is connected to another mixer.
public protocol AVAudioMixing: AVAudioStereoMixing, AVAudio3DMixing {
  /// 0 to 1, the full volume, which it has at first. Changes take one render.
  var volume: Float { get set }

  /// Returns the settings for one of several mixers; nil unless the node is connected to that bus of it.
  func destination(forMixer mixer: AVAudioNode, bus: AVAudioNodeBus) -> AVAudioMixingDestination?
}

extension AVAudioStereoMixing {
  /// The pan at the mixer behind it, -1 to 1. What is no number counts as 0.
  public var pan: Float {
    get { (self as? any PlacedSound)?.placement.pan ?? 0 }
    set { (self as? any PlacedSound)?.set { $0.pan = newValue } }
  }
}

extension AVAudioMixing {
  /// The volume at the mixer behind it, 0 to 1. What is no number counts as 0.
  public var volume: Float {
    get { (self as? any PlacedSound)?.placement.volume ?? 1 }
    set { (self as? any PlacedSound)?.set { $0.volume = newValue } }
  }
}

extension AVAudioMixing where Self: AVAudioNode {
  /// Returns the settings for one of several mixers; nil unless the node is connected to that bus of it.
  public func destination(
    forMixer mixer: AVAudioNode, bus: AVAudioNodeBus
  ) -> AVAudioMixingDestination? {
    engine?.mixingDestination(of: self, mixer, bus)
  }
}

/// Volume and pan of a node at one of several mixers. They replace those of the node until these are set
/// again, and are lost when the connection is.
open class AVAudioMixingDestination: NSObject, AVAudioMixing, PlacedSound, @unchecked Sendable {
  /// The bus of the mixer.
  public let connectionPoint: AVAudioConnectionPoint
  let settings = MixingSettings()
  private weak let connection: Connection?

  init(_ connection: Connection, _ values: MixingSettings.Values) {
    self.connection = connection
    connectionPoint = AVAudioConnectionPoint(
      node: connection.destination, bus: connection.input)
    super.init()
    _ = settings.change { $0 = values }
  }

  var placement: MixingSettings.Values { settings.current }
  func set(_ body: (inout MixingSettings.Values) -> Void) {
    connection?.apply(settings.change(body))
  }

  /// Returns this object for its own mixer and bus; otherwise nil.
  public func destination(
    forMixer mixer: AVAudioNode, bus: AVAudioNodeBus
  ) -> AVAudioMixingDestination? {
    mixer === connectionPoint.node && bus == connectionPoint.bus ? self : nil
  }
}

/// A bus of a node, which another one supplies or takes.
open class AVAudioConnectionPoint: NSObject, @unchecked Sendable {
  /// The node; nil once it is gone.
  public var node: AVAudioNode? { target }
  private weak var target: AVAudioNode?
  /// The number of the bus.
  public let bus: AVAudioNodeBus

  /// Creates a connection point.
  public init(node: AVAudioNode, bus: AVAudioNodeBus) {
    target = node
    self.bus = bus
  }
}
