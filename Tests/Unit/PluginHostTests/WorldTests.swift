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
    #expect(amp.name == "Simple Amplifier")
    #expect(amp.license == "http://opensource.org/licenses/isc")
    #expect(amp.className == "Amplifier Plugin")
    #expect(amp.bundle.hasSuffix("/eg-amp.lv2/") && amp.binary == amp.bundle + "amp.so")
    #expect(amp.optionalFeatures == ["http://lv2plug.in/ns/lv2core#hardRTCapable"])
    #expect(amp.problems == [] && amp.requiredFeatures == [])
    #expect(amp.ports.map(\.symbol) == ["gain", "in", "out"])
    #expect(amp.ports.map(\.kind) == [.control, .audio, .audio])
    #expect(amp.ports.map(\.direction) == [.input, .input, .output])
    let gain = amp.ports[0]
    #expect(gain.defaultValue == 0 && gain.minimum == -90 && gain.maximum == 24)
    #expect(gain.unit?.symbol == "dB")
    #expect(gain.scalePoints.map(\.value) == [-10, -5, 0, 5])
    #expect(gain.scalePoints.map(\.label) == ["-10", "-5", "0", "+5"])
    let piano = try describe("http://drobilla.net/plugins/mda/EPiano")
    #expect(piano.author == "David Robillard")
  }

  @Test func eventPortsParametersAndFeaturesAreRead() throws {
    let params = try describe("http://lv2plug.in/plugins/eg-params")
    let input = try #require(params.events(.input).first)
    #expect(input.eventTypes == ["http://lv2plug.in/ns/ext/patch#Message"])
    #expect(input.designation == "http://lv2plug.in/ns/lv2core#control")
    #expect(params.extensionData.contains("http://lv2plug.in/ns/ext/state#interface"))
    #expect(params.requiredFeatures == ["http://lv2plug.in/ns/ext/urid#map"])
    let gain = try #require(params.parameters.first { $0.uri.hasSuffix("#float") })
    #expect(gain.isWritable && gain.range == "http://lv2plug.in/ns/ext/atom#Float")
    let sampler = try describe("http://lv2plug.in/plugins/eg-sampler")
    #expect(sampler.requiredFeatures.contains("http://lv2plug.in/ns/ext/worker#schedule"))
    let metro = try describe("http://lv2plug.in/plugins/eg-metro")
    #expect(metro.events(.input).first?.eventTypes == ["http://lv2plug.in/ns/ext/time#Position"])
  }

  @Test func presetsAreListedInOrder() throws {
    let presets = try describe("http://drobilla.net/plugins/mda/EPiano").presets
    #expect(presets.count > 3 && presets == presets.sorted { $0.label < $1.label })
    #expect(
      presets.allSatisfy { $0.uri.hasPrefix("http://drobilla.net/plugins/mda/presets#EPiano") })
  }

  @Test func anUnknownPluginIsNamed() {
    #expect(throws: HostError.unknownPlugin(uri: "urn:nothing")) { try describe("urn:nothing") }
    #expect(throws: HostError.unknownPlugin(uri: "not a URI")) { try describe("not a URI") }
  }
}
