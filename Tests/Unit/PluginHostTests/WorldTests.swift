import Foundation
import Graph
import PluginHost
import TestSupport
import Testing

/// Descriptions read from the bundles of lv2-examples and mda-lv2.
@Suite struct WorldTests {
  private static let world = World()

  private func describe(_ uri: String) throws -> PluginDescription {
    try Self.world.description(of: uri)
  }

  @Test func aPluginIsDescribed() throws {
    let amp = try describe("http://lv2plug.in/plugins/eg-amp")
    expectEqual(amp.name, "Simple Amplifier")
    expectEqual(amp.license, "http://opensource.org/licenses/isc")
    expectEqual(amp.className, "Amplifier Plugin")
    expectTrue(amp.bundle.hasSuffix("/eg-amp.lv2/") && amp.binary == amp.bundle + "amp.so")
    expectEqual(amp.optionalFeatures, ["http://lv2plug.in/ns/lv2core#hardRTCapable"])
    expectTrue(amp.problems == [] && amp.requiredFeatures == [])
    expectEqual(amp.ports.map(\.symbol), ["gain", "in", "out"])
    expectEqual(amp.ports.map(\.kind), [.control, .audio, .audio])
    expectEqual(amp.ports.map(\.direction), [.input, .input, .output])
    let gain = amp.ports[0]
    expectTrue(gain.defaultValue == 0 && gain.minimum == -90 && gain.maximum == 24)
    expectEqual(gain.unit?.symbol, "dB")
    expectEqual(gain.scalePoints.map(\.value), [-10, -5, 0, 5])
    expectEqual(gain.scalePoints.map(\.label), ["-10", "-5", "0", "+5"])
    let piano = try describe("http://drobilla.net/plugins/mda/EPiano")
    expectEqual(piano.author, "David Robillard")
  }

  @Test func eventPortsParametersAndFeaturesAreRead() throws {
    let params = try describe("http://lv2plug.in/plugins/eg-params")
    let input = try require(params.events(.input).first)
    expectEqual(input.eventTypes, ["http://lv2plug.in/ns/ext/patch#Message"])
    expectEqual(input.designation, "http://lv2plug.in/ns/lv2core#control")
    expectTrue(params.extensionData.contains("http://lv2plug.in/ns/ext/state#interface"))
    expectEqual(params.requiredFeatures, ["http://lv2plug.in/ns/ext/urid#map"])
    let gain = try require(params.parameters.first { $0.uri.hasSuffix("#float") })
    expectTrue(gain.isWritable && gain.range == "http://lv2plug.in/ns/ext/atom#Float")
    let sampler = try describe("http://lv2plug.in/plugins/eg-sampler")
    expectTrue(sampler.requiredFeatures.contains("http://lv2plug.in/ns/ext/worker#schedule"))
    let metro = try describe("http://lv2plug.in/plugins/eg-metro")
    expectEqual(metro.events(.input).first?.eventTypes, ["http://lv2plug.in/ns/ext/time#Position"])
  }

  @Test func presetsAreListedInOrder() throws {
    let presets = try describe("http://drobilla.net/plugins/mda/EPiano").presets
    expectTrue(presets.count > 3 && presets == presets.sorted { $0.label < $1.label })
    expectTrue(
      presets.allSatisfy { $0.uri.hasPrefix("http://drobilla.net/plugins/mda/presets#EPiano") })
  }

  @Test func anUnknownPluginIsNamed() {
    #expect(throws: HostError.unknownPlugin(uri: "urn:nothing")) { try describe("urn:nothing") }
    #expect(throws: HostError.unknownPlugin(uri: "not a URI")) { try describe("not a URI") }
  }
}
