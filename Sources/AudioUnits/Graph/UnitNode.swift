import CRealTime
import Graph
import RealTime
import Timeline

/// An audio unit as a node of a client's graph. Its inputs are the channels of all its input buses.
@safe
final class UnitNode: GraphNode, @unchecked Sendable {
  let name: String
  let inputs, outputs: Int
  let unit: Unit
  /// The first channel of each input bus.
  let firstChannels: [Int]
  private let kernel: UnsafeMutablePointer<UnitNodeKernel>
  private let lists: [UnsafeMutablePointer<cue_buffer_list>]
  private let addresses: UnsafeMutablePointer<UnsafeMutablePointer<cue_buffer_list>>

  /// - Parameters:
  ///   - channels: Those of the first input and of the output; nil for those that the unit has.
  ///   - sampleRate: The graph's.
  init(_ unit: Unit, channels: Int?, sampleRate: Double) throws(UnitError) {
    if unit is OutputUnit || unit.busCount(.output) < 1 || unit.busCount(.input) < 1 {
      throw .unsupported("\(unit.name) is no unit that sound passes")
    }
    if let channels {
      let format = try Self.planar(channels, sampleRate)
      try unit.setFormat(format, .input, 0)
      try unit.setFormat(format, .output, 0)
    }
    self.unit = unit
    name = unit.name
    var counts: [Int] = []
    for bus in 0..<(channels == nil ? unit.busCount(.input) : 1) {
      counts.append(try unit.bus(.input, UInt32(bus)).format.channels)
    }
    var first = 0
    firstChannels = counts.map { count in
      defer { first += count }
      return first
    }
    inputs = first
    outputs = try unit.bus(.output, 0).format.channels
    unsafe lists = (counts + [outputs]).map { count in
      let list = unsafe BufferMemory.allocateList(buffers: count)
      unsafe list.pointee.count = UInt32(count)
      for i in 0..<count { unsafe cue_rt_buffers(list)[i].channels = 1 }
      return unsafe list
    }
    unsafe addresses = .allocate(capacity: lists.count)
    for i in unsafe lists.indices { unsafe (addresses + i).initialize(to: lists[i]) }
    unsafe kernel = .allocate(capacity: 1)
    unsafe kernel.initialize(
      to: UnitNodeKernel(
        unit.render, inputs: addresses, inputCount: counts.count,
        output: addresses + counts.count))
  }

  deinit {
    unsafe kernel.deallocate()
    unsafe addresses.deallocate()
    unsafe lists.forEach { unsafe $0.deallocate() }
  }

  private static func planar(_ channels: Int, _ rate: Double) throws(UnitError) -> BusFormat {
    guard let format = BusFormat.planar(channels: channels, sampleRate: rate) else {
      throw .formatNotSupported("\(channels) channels at \(rate) Hz")
    }
    return format
  }

  var latencyFrames: Int {
    let rate = (try? unit.bus(.output, 0).format.sampleRate) ?? 0
    return Int(held: (unit.latencySeconds * rate).rounded())
  }

  var processor: cue_node {
    unsafe cue_node(
      run: { unsafe runUnitNode($0, $1) }, context: UnsafeMutableRawPointer(kernel),
      prefetched_bytes: MemoryLayout<UnitNodeKernel>.size)
  }

  func prepare(sampleRate: Double, maximumFrames: Int) throws(HostError) {
    do throws(UnitError) {
      for bus in unsafe 0..<(lists.count - 1) {
        let channels = try unit.bus(.input, UInt32(bus)).format.channels
        try unit.setFormat(Self.planar(channels, sampleRate), .input, UInt32(bus))
      }
      try unit.setFormat(Self.planar(outputs, sampleRate), .output, 0)
      if unit.maximumFrames < maximumFrames { try unit.setMaximumFrames(maximumFrames) }
      try unit.initialize()
    } catch {
      throw .notInstantiated(uri: name, sampleRate: sampleRate)
    }
  }
}
