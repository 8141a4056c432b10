import TestSupport
import Testing

@testable import System

@Suite struct ServiceManagerTests {
  /// A process that sleeps for `pause` gives a sign of life twice in each interval.
  @Test(arguments: [0.25, 1, 60]) func theNextSignIsDueInTime(seconds: Double) {
    var manager = ServiceManager(socketPath: "/dev/null", watchdogSeconds: seconds)
    expectEqual(manager.pause, 0)
    manager.lives()
    expectTrue(manager.pause <= seconds / 2)
  }

  @Test func nobodyWaitsForASign() {
    var manager = ServiceManager(socketPath: "/dev/null", watchdogSeconds: nil)
    manager.lives()
    expectEqual(manager.pause, .infinity)
  }
}
