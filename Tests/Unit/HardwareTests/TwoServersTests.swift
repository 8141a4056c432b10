import Foundation
import TestSupport
import Testing

@testable import Hardware
@testable import Server

/// Devices of two servers in one process, although libjack serves one at a time.
@Suite(.tags(.server), .serialized) struct TwoServersTests {
  @Test func aClientThatNothingNeedsMakesWay() throws {
    let daemons = [
      try JackDaemon(period: 256, playbackPorts: 4), try JackDaemon(period: 512, playbackPorts: 6),
    ]
    let devices = daemons.map {
      HardwareDevice(JackServer(named: $0.name), named: $0.name, clientName: "facts")
    }
    for _ in 0..<2 {
      expectTrue(try devices[0].facts.outputs == 4 && devices[0].facts.periodFrames == 256)
      expectTrue(try devices[1].facts.outputs == 6 && devices[1].facts.periodFrames == 512)
    }
    // A queue's device on the first server.
    let device = try Device(JackServer(named: daemons[0].name), clientName: "queue")
    expectEqual(device.client.physicalOutputs.count, 4)
    device.close()
    // One that is listened to stays.
    devices[1].beginUse()
    try expectEqual(devices[1].facts.outputs, 6)
    // What is known of the other one stays answered.
    try expectEqual(devices[0].facts.outputs, 4)
    try expectEqual(devices[0].bufferFrames, 256)
    let isSet = try devices[0].setBufferFrames(128, askingServer: false)
    expectTrue(isSet)
    expectTrue(devices[0].canBeAsked && devices[1].canBeAsked)
    #expect(throws: ServerError.self) { _ = try devices[0].open() }
    // One that was never asked cannot be.
    let unknown = HardwareDevice(
      JackServer(named: daemons[0].name), named: daemons[0].name, clientName: "unknown")
    expectTrue(!unknown.canBeAsked)
    #expect(throws: ServerError.self) { try unknown.facts }
    devices[1].endUse()
    try expectEqual(devices[0].facts.outputs, 4)
    for device in devices { device.closeIfUnused() }
  }
}
