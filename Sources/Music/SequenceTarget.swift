package import AudioUnits
package import Hardware

/// The renderer of a sequence: a graph or an engine. Any thread that is not real time.
package protocol SequenceTarget: AnyObject, Sendable {
  /// Makes units and connections, so that the units render when they are asked to.
  func prepare() throws(MusicError)
  /// Lets the device ask the units, if there is one.
  func start() throws(MusicError)
  /// The unit whose renders are the sequence's time; nil if there is none.
  var clock: Unit? { get }
  /// The unit of tracks that name none; nil if there is none.
  var instrument: Unit? { get }
  /// Returns the unit of a node; nil if there is none.
  func unit(ofNode node: Int32) -> Unit?
  /// The device whose cycles render; nil if the program renders.
  var device: HardwareDevice? { get }
}
