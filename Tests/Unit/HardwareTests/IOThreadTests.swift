import CRealTime
import Foundation
import TestSupport
import Testing

@testable import Hardware
@testable import RealTime
@testable import Server

/// I/O functions that two threads start, stop and remove at once.
@Suite struct IOThreadTests {
  let server = HandDrivenServer()
  let device: HardwareDevice
  let held = HeldCall()

  init() {
    device = HardwareDevice(server, named: "by-hand", clientName: "io")
    server.whenAddingPort = { [held] in held.pass() }
  }

  @Test(
    "a function that is stopped or removed while another thread starts it does not run",
    arguments: [false, true])
  func stops(isRemoved: Bool) throws {
    let wave = WaveFunction()
    let function = wave.function
    device.add(function)
    held.run({ [device] in _ = try? device.start(function) }) { [device] in
      if isRemoved { device.remove(function) } else { device.stop(function) }
    }
    for _ in 0..<3 { server.cycle(frames: 1024) }
    expectTrue(wave.calls.isEmpty && !device.isRunning && !function.isRunning)
    device.remove(function)
    expectTrue(server.clients.last!.outputs.allSatisfy { $0.isRemoved })
    device.closeIfUnused()
  }

  @Test("a function that was removed is not started, added or given ports")
  func removed() throws {
    let wave = WaveFunction()
    let function = wave.function
    device.add(function)
    device.remove(function)
    expectTrue(try !device.start(function))
    device.add(function)
    expectTrue(try !device.start(function))
    expectTrue(!device.isRunning && server.clients.allSatisfy { $0.outputs.isEmpty })
    device.closeIfUnused()
  }

  @Test("a function that removes itself in its first call is not called again")
  func removesItself() throws {
    final class Calls: @unchecked Sendable {
      var count = 0
      var remove: (() -> Void)?
    }
    let calls = Calls()
    let function = IOFunction(
      cue_io_function(
        run: { context, _ in
          Unmanaged<Calls>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.count += 1
            $0.remove?()
          }
        }, context: Unmanaged.passUnretained(calls).toOpaque()), keeping: calls)
    calls.remove = { [device] in device.remove(function) }
    device.add(function)
    try device.start(function)
    for _ in 0..<3 { server.cycle(frames: 1024) }
    expectTrue(calls.count == 1 && !device.isRunning)
    expectTrue(try !device.start(function))
    expectTrue(waits { server.clients.last!.outputs.allSatisfy { $0.isRemoved } })
    calls.remove = nil
    device.closeIfUnused()
  }
}
