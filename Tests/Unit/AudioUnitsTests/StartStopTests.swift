import CRealTime
import Foundation
import Synchronization
import System
import TestSupport
import Testing

@testable import AudioUnits
@testable import Hardware
@testable import RealTime

/// Calls that begin and end something on one unit or graph, from two threads at once. `starts.c` has the
/// functions of the C API on a server.
@Suite struct StartStopTests {
  let server = HandDrivenServer()
  let device: HardwareDevice
  let unit: OutputUnit
  let source = WaveSource()
  let held = HeldCall()

  init() throws {
    let device = HardwareDevice(server, named: "by-hand", clientName: "units")
    self.device = device
    unit = try require(try UnitKind.remoteIO.make { device } as? OutputUnit)
    server.whenAddingPort = { [held] in held.pass() }
  }

  private func ready() throws {
    try unit.setCallback(WaveSource.proc, source.pointer, 0)
    try unit.initialize()
  }

  /// Checks that no cycle calls the app, and that the device has no function.
  private func expectSilence(_ calls: Int = 0, sourceLocation: SourceLocation = #_sourceLocation) {
    for _ in 0..<3 { server.cycle(frames: 1024) }
    expectTrue(source.calls == calls && !device.isRunning, sourceLocation: sourceLocation)
    expectTrue(
      waits { server.clients.allSatisfy { $0.outputs.allSatisfy { $0.isRemoved } } },
      sourceLocation: sourceLocation)
  }

  /// Programs that see no more of the log than errors learn why they are silent.
  @Test("a server that is away is an error in the log, once for each time") func awayIsTold() throws
  {
    let lines = Mutex<[String]>([])
    Log.set(level: .error) { _, text in lines.withLock { $0.append(text) } }
    server.failure = .lost(server: "by-hand")
    for _ in 0..<3 { #expect(throws: UnitError.self) { try unit.initialize() } }
    let told = [
      "an output unit cannot use the JACK server “by-hand”: the JACK server “by-hand” went away"
    ]
    expectEqual(lines.withLock { $0 }, told)
    server.failure = nil
    try ready()
    try unit.start()
    expectEqual(lines.withLock { $0 }, told)
    unit.stop()
    device.closeIfUnused()
    server.failure = .lost(server: "by-hand")
    for _ in 0..<3 { #expect(throws: UnitError.self) { try unit.start() } }
    expectEqual(lines.withLock { $0 }, told + told)
    unit.dispose()
  }

  enum End: CaseIterable { case stop, uninitialize, dispose }

  @Test("a unit that is stopped while another thread starts it is stopped", arguments: End.allCases)
  func ends(end: End) throws {
    try ready()
    held.run({ [unit] in try? unit.start() }) { [unit] in
      switch end {
      case .stop: unit.stop()
      case .uninitialize: unit.uninitialize()
      case .dispose: unit.dispose()
      }
    }
    expectTrue(!unit.isRunning)
    expectSilence()
    unit.dispose()
    device.closeIfUnused()
  }

  @Test("a unit that is stopped while another thread lets it record is stopped")
  func directions() throws {
    try ready()
    try unit.start()
    server.cycle(frames: 1024)
    held.run({ [unit] in try? unit.setRecords(true) }) { [unit] in unit.stop() }
    expectTrue(!unit.isRunning && unit.records)
    expectSilence(1)
    // It records from the next start on.
    try unit.start()
    expectEqual(server.clients.last!.inputs.count { !$0.isRemoved }, 2)
    unit.dispose()
    device.closeIfUnused()
  }

  @Test("a unit that was disposed of is not initialised, started or connected again")
  func disposed() throws {
    let mixer = try UnitKind.multiChannelMixer.make { device }
    try ready()
    unit.dispose()
    func isDisposed(_ body: () throws(UnitError) -> Void) -> Bool {
      do throws(UnitError) { try body() } catch {
        if case .disposed = error { return true }
      }
      return false
    }
    expectTrue(isDisposed { () throws(UnitError) in try unit.initialize() })
    expectTrue(isDisposed { () throws(UnitError) in try unit.start() })
    expectTrue(isDisposed { () throws(UnitError) in try mixer.connect(unit, output: 1, to: 0) })
    mixer.dispose()
    device.closeIfUnused()
  }

  @Test("a stop in the first call is not lost to the start that still goes on")
  func stopsInFirstCall() throws {
    try ready()
    source.keepsCalls = false
    source.action = { [unit] in unit.stop() }
    let isOver = Atomic<Bool>(false)
    let cycles = DispatchGroup()
    cycles.enter()
    Thread.detachNewThread { [server] in
      while !isOver.load(ordering: .relaxed) { server.cycle(frames: 64) }
      cycles.leave()
    }
    for round in 1...300 {
      try unit.start()
      // The next start comes as soon as the unit says that it was stopped.
      let end = ContinuousClock.now + .seconds(30)
      while unit.isRunning && ContinuousClock.now < end {}
      try require(waits { source.calls == round && !unit.isRunning })
    }
    isOver.store(true, ordering: .relaxed)
    cycles.wait()
    source.action = nil
    expectSilence(300)
    unit.dispose()
    device.closeIfUnused()
  }

  @Test("the device keeps a unit that is started and let go")
  func keeps() throws {
    try ready()
    weak var kept: OutputUnit?
    try {
      let other = try require(try UnitKind.remoteIO.make { device } as? OutputUnit)
      try other.setCallback(WaveSource.proc, source.pointer, 0)
      try other.initialize()
      try other.start()
      kept = other
    }()
    server.cycle(frames: 1024)
    expectTrue(source.calls == 1 && kept != nil)
    kept?.dispose()
    expectTrue(waits { kept == nil })
    unit.dispose()
    expectSilence(1)
    device.closeIfUnused()
  }

  // MARK: Graphs

  enum GraphEnd: CaseIterable { case stop, uninitialize, close, dispose }

  @Test(
    "a graph that is stopped while another thread starts it is stopped",
    arguments: GraphEnd.allCases)
  func graphs(end: GraphEnd) throws {
    let graph = UnitGraph(
      making: { [device] component throws(UnitError) in try component.make { device } },
      disposing: { $0.dispose() })
    let component = try require(
      ComponentList.shared.next(after: nil, matching: UnitKind.remoteIO.description))
    let node = try graph.addNode(component)
    try graph.open()
    try graph.set(
      .callback(WaveSource.proc, source.pointer), for: UnitGraph.Input(node: node, bus: 0))
    try graph.initialize()
    held.run({ try? graph.start() }) {
      switch end {
      case .stop: graph.stop()
      case .uninitialize: graph.uninitialize()
      case .close: graph.close()
      case .dispose: graph.dispose()
      }
    }
    expectTrue(!graph.isRunning && graph.isInitialized == (end == .stop))
    expectSilence()
    graph.dispose()
    #expect(throws: UnitGraphError.self) { try graph.open() }
    #expect(throws: UnitGraphError.self) { try graph.start() }
    unit.dispose()
    device.closeIfUnused()
  }

  // MARK: Renders

  /// A converter whose callbacks call a function.
  private func converter() throws -> AudioUnits.Unit {
    let converter = try make(.converter)
    try converter.setFormat(planar(2), .input, 0)
    try converter.setFormat(planar(2), .output, 0)
    try converter.setCallback(WaveSource.proc, source.pointer, 0)
    try converter.initialize()
    return converter
  }

  @Test("a thread whose render was refused waits for the one that renders, and frees the old setup")
  func setsBesideARender() throws {
    let converter = try converter()
    weak let old = try converter.read { $0.memory }
    let ends = Mutex<[Int32]>([])
    source.action = { [held, converter] in
      held.pass()
      // The render is this thread's, whatever others have tried.
      ends.withLock { $0.append(converter.isInside ? 1 : 0) }
    }
    held.run({
      _ = try? Renderer(converter).render(64)
    }) {
      let other = Renderer(converter)
      _ = try? other.render(64)
      ends.withLock { $0.append(other.status) }
      try? converter.setMaximumFrames(512)
    }
    expectEqual(ends.withLock { $0 }, [RenderError.wrongContext, 1])
    expectTrue(old == nil && !converter.isInside)
    converter.dispose()
    device.closeIfUnused()
  }

  @Test("a render that is not over keeps its samples from those of other threads")
  func rendersOneAtATime() throws {
    let converter = try converter()
    // The function that hears of renders is called before the samples are made, and after they were written.
    let notify = UnitNotify(
      { data, _, _, _, _, _ in
        Unmanaged<HeldCall>.fromOpaque(data!)._withUnsafeGuaranteedRef { $0.pass() }
        return 0
      }, Unmanaged.passUnretained(held).toOpaque())
    try converter.add(notify)
    let results = Mutex<(first: [Float], second: Int32)>(([], 0))
    held.run({
      let first = (try? Renderer(converter).render(64))?.first ?? []
      results.withLock { $0.first = first }
    }) {
      let second = Renderer(converter, from: 1000)
      _ = try? second.render(64)
      results.withLock { $0.second = second.status }
    }
    let (first, second) = results.withLock { $0 }
    expectTrue(first == (0..<64).map(WaveSource.sample) && second == RenderError.wrongContext)
    converter.dispose()
    device.closeIfUnused()
  }

  // MARK: Quality

  @Test(
    "the quality governs the sample rate converter",
    arguments: [UnitKind.remoteIO, .halOutput, .genericOutput, .converter, .multiChannelMixer])
  func quality(kind: UnitKind) throws {
    let unit = try kind.make { device }
    expectEqual(unit.quality, 0x60)
    try unit.setFormat(planar(2, 44100), .input, 0)
    if !kind.isOutputUnit { try unit.setFormat(planar(2, 48000), .output, 0) }
    try unit.initialize()
    try unit.setQuality(0)
    let least = unit.latencySeconds
    try unit.setQuality(127)
    expectTrue(unit.quality == 127 && least < unit.latencySeconds)
    #expect(throws: UnitError.self) { try unit.setQuality(128) }
    expectEqual(unit.quality, 127)
    unit.dispose()
    self.unit.dispose()
    device.closeIfUnused()
  }
}
