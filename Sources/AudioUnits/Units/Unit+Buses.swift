import RealTime

// Settings of a single bus.

extension Unit {
  package func setName(_ name: String?, _ side: Side, _ index: UInt32) throws(UnitError) {
    try changeBus(side, index) { bus, _ in bus.name = name }
  }

  package func setLayout(_ bytes: [UInt8], _ side: Side, _ index: UInt32) throws(UnitError) {
    try changeBus(side, index) { bus, _ in bus.layout = bytes }
  }

  /// Gives an input the format of a source's output; the other way round if the unit cannot take it.
  func takeFormat(_ format: BusFormat, of source: Unit, output: UInt32, to bus: UInt32)
    throws(UnitError)
  {
    do throws(UnitError) {
      try setFormat(format, .input, bus)
    } catch {
      try source.setFormat(try self.bus(.input, bus).format, .output, output)
    }
  }
}
