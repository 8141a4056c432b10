/// A change of a unit that its observer is told of.
package enum UnitChange: Sendable {
  /// The format of a bus.
  case format(Unit.Side, bus: UInt32)
  case busCount(Unit.Side)
  case maximumFrames
  /// The output unit was started or stopped.
  case running
  case device
  /// A preset was set, or settings were restored.
  case preset
  /// The direction of an output unit: playing is that of the output, recording that of the input.
  case direction(Unit.Side)
  /// The channel map of a bus of an output unit.
  case channelMap(bus: Int)
}
