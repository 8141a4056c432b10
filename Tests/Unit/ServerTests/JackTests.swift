import Foundation
import RealTime
import Server
import Synchronization
import System
import TestSupport
import Testing
import Timeline

@Suite(.tags(.server), .serialized) struct JackTests {
  @Test func aServerThatDoesNotRunIsNamed() {
    let server = JackServer(named: "cuejack-no-such-server")
    expectTrue(!server.isRunning)
    #expect(throws: ServerError.unknownServer("cuejack-no-such-server")) {
      _ = try server.openClient(named: "a")
    }
    expectEqual(
      ServerError.unknownServer("studio").description, "no JACK server named “studio” is running")
  }

  /// libjack keeps one server's memory for the whole process, so a client of another server would
  /// crash.
  @Test func oneServerAtATime() throws {
    let first = try JackDaemon()
    defer { first.stop() }
    let second = try JackDaemon()
    defer { second.stop() }
    let client = try JackServer(named: first.name).openClient(named: "a")
    let other = JackServer(named: second.name)
    #expect(throws: ServerError.otherServer(second.name, inUse: first.name)) {
      _ = try other.openClient(named: "b")
    }
    expectTrue(!other.isRunning)
    client.close()
    try other.openClient(named: "b").close()
  }

  @Test func aNameThatIsTakenIsMadeUnique() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let server = JackServer(named: jack.name)
    expectTrue(server.isRunning)
    let first = try server.openClient(named: "twin")
    let second = try server.openClient(named: "twin")
    expectEqual(first.name, "twin")
    expectEqual(second.name, "twin-01")
    second.close()
    first.close()
    // Never use the server's own name: closing the client would remove the server's socket.
    let third = try server.openClient(named: jack.name)
    expectTrue(third.name != jack.name)
    third.close()
    expectTrue(server.isRunning)
  }

  @Test func timeIsTheServers() throws {
    let jack = try JackDaemon(rate: 44100)
    defer { jack.stop() }
    let server = JackServer(named: jack.name)
    let first = try Device(server, clientName: "a")
    let second = try Device(server, clientName: "b")
    expectEqual(first.client.sampleRate, 44100)
    expectEqual(first.client.physicalOutputs.count, 2)
    // Each client counts from its own last cycle, so two clients differ by one period at most.
    let times = [first.now, second.now, first.now]
    let period = Int64(first.client.periodFrames)
    expectTrue(times[1] > times[0] - 2 * period && times[1] < times[2] + 2 * period)
    // Host time and device time agree within JACK's resolution of one microsecond.
    let before = HostTime.now
    let frame = first.now + 44100
    let after = HostTime.now
    let hostTime = first.hostTime(ofFrame: frame)
    expectTrue(abs(first.frame(atHostTime: hostTime) - frame) <= 1)
    expectTrue(hostTime > before + 500_000_000 && hostTime < after + 1_500_000_000)
    first.close()
    second.close()
  }

  /// The event thread of a device that does nothing sleeps for 1.6 seconds.
  @Test func anIdleDeviceIsSeldomLookedAt() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let device = try Device(JackServer(named: jack.name), clientName: "a")
    defer { device.close() }
    let looks = Mutex<(latest: UInt64, longest: UInt64)>((HostTime.now, 0))
    device.afterEvents {
      looks.withLock { looks in
        let now = HostTime.now
        looks = (now, max(looks.longest, now - looks.latest))
      }
    }
    try wait(for: "a long sleep") { looks.withLock { $0.longest } > 1_500_000_000 }
  }

  /// A stopped server is reported after some seconds. When it resumes, the same client continues.
  @Test func aServerThatRunsNoCyclesIsNoticed() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let device = try Device(JackServer(named: jack.name), clientName: "a")
    let memory = VoiceMemory(channels: 2)
    let listener = PassiveOwner()
    _ = try device.attach(memory, owner: listener)
    let client = device.client
    let process = try require(jack.processIdentifier)
    expectEqual(kill(process, SIGSTOP), 0)
    let end = Date(timeIntervalSinceNow: 60)
    while !listener.hasLost && Date() < end { usleep(1000) }
    expectTrue(listener.hasLost && device.loss == .stalled)
    expectEqual(kill(process, SIGCONT), 0)
    while device.isLost && Date() < end { usleep(1000) }
    expectTrue(!device.isLost && device.client === client)
    expectEqual(device.restarts, 0)
    _ = device.detach(memory)
  }

  @Test func aLostServerIsNoticed() throws {
    let jack = try JackDaemon()
    let device = try Device(JackServer(named: jack.name), clientName: "a")
    let memory = VoiceMemory(channels: 2)
    let listener = PassiveOwner()
    _ = try device.attach(memory, owner: listener)
    jack.kill()
    let end = Date(timeIntervalSinceNow: 30)
    while !listener.hasLost && Date() < end { usleep(1000) }
    expectTrue(listener.hasLost)
    expectTrue(device.isLost)
    device.detach(memory)
  }

  @Test func aServerThatIsFullSaysSo() throws {
    let jack = try JackDaemon(period: 256)
    defer { jack.stop() }
    let server = JackServer(named: jack.name)
    var clients: [any ServerClient] = []
    defer { clients.forEach { $0.close() } }
    var failure: ServerError?
    do throws(ServerError) {
      while clients.count < 300 {
        clients.append(try server.openClient(named: "client \(clients.count)"))
      }
    } catch {
      failure = error
    }
    let words = "\(clients.count) clients, then \(String(describing: failure))"
    guard case .cannotOpenClient(_, jack.name, let reason) = failure else {
      Issue.record("\(words)")
      return
    }
    expectTrue(reason.hasPrefix("the server is full: it has ") && clients.count >= 60, "\(words)")
  }
}
