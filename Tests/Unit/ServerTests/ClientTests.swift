import Foundation
import RealTime
import TestSupport
import Testing

@testable import Server

/// Opening, naming and closing clients, also on servers that do not answer.
@Suite(.tags(.server), .serialized) struct ClientTests {
  @Test func aDeviceThatIsLetGoClosesItsClient() throws {
    let server = HandDrivenServer()
    do { _ = try Device(server, clientName: "unused") }
    // The event thread may hold the device for a moment.
    expectTrue(waits { server.clients.map(\.isClosed) == [true] })
    server.cycle(frames: 64)

    let jack = try JackDaemon()
    defer { jack.stop() }
    do { _ = try Device(JackServer(named: jack.name), clientName: "unused") }
    let isFree = try waits {
      let other = try JackServer(named: jack.name).openClient(named: "unused")
      defer { other.close() }
      return other.name == "unused"
    }
    expectTrue(isFree)
  }

  /// jackd accepts names of up to 63 bytes.
  @Test(arguments: [59, 60, 61, 63, 64, 200]) func longNamesAreShortened(bytes: Int) throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let server = JackServer(named: jack.name)
    for letter in ["a", "ä", "語", "👩‍👩‍👧‍👧"] {
      let name = String(repeating: letter, count: bytes / letter.utf8.count)
      let clients = try (0..<3).map { _ in try server.openClient(named: name) }
      let names = clients.map(\.name)
      expectEqual(Set(names).count, 3)
      expectTrue(names.allSatisfy { $0.utf8.count <= 63 && $0.hasPrefix(letter) })
      expectTrue(name.hasPrefix(names[0]))
      expectTrue(names[1] == "\(names[0])-01" && names[2] == "\(names[0])-02")
      clients.forEach { $0.close() }
    }
  }

  /// jackd itself counts only to 99.
  @Test func manyClientsHaveOneName() throws {
    let jack = try JackDaemon(period: 256)
    defer { jack.stop() }
    let server = JackServer(named: jack.name)
    var clients = try (0..<104).map { _ in try server.openClient(named: "one") }
    defer { clients.forEach { $0.close() } }
    expectEqual(clients[99].name, "one-99")
    expectEqual(clients[100...].map(\.name), ["one-100", "one-101", "one-102", "one-103"])
    // The lowest free number is used.
    for i in [101, 7] { clients.remove(at: i).close() }
    clients.append(try server.openClient(named: "one"))
    expectEqual(clients.last?.name, "one-07")
    clients.append(try server.openClient(named: "one"))
    expectEqual(clients.last?.name, "one-101")
  }

  /// The stopped server keeps its sockets open, but does not read them.
  @Test func aServerThatDoesNotAnswerIsLeft() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let process = try require(jack.processIdentifier)
    let device = try Device(JackServer(named: jack.name), clientName: "left")
    let shared = try Device(JackServer(named: jack.name), clientName: "shared")
    let listener = PassiveOwner()
    let (first, second) = (VoiceMemory(channels: 1), VoiceMemory(channels: 1))
    _ = try shared.attach(first, owner: listener)
    _ = try shared.attach(second, owner: listener)
    kill(process, SIGSTOP)
    device.close()
    // A attachment that leaves a shared client unregisters its ports, and the last one closes the client.
    shared.detach(first)
    shared.detach(second)
    // Another server can be used meanwhile.
    let other = try JackDaemon()
    defer { other.stop() }
    let client = try JackServer(named: other.name).openClient(named: "other")
    client.close()
    kill(process, SIGCONT)
    // The server has removed the abandoned clients. It reads no requests while it waits for them.
    let end = Date(timeIntervalSinceNow: 60)
    var again: (any ServerClient)?
    repeat {
      again?.close()
      again = try? JackServer(named: jack.name).openClient(named: "left")
    } while again?.name != "left" && Date() < end
    expectEqual(again?.name, "left")
    again?.close()
  }
}
