import CLilv
import FoundationEssentials

/// Reader of a plugin's description from lilv. The caller holds the lock of the world.
@safe
struct PluginReader {
  private let world: OpaquePointer
  private let plugin: OpaquePointer
  private let nodes: LilvNodes
  /// Remarks about ignored statements.
  private let remarks = Remarks()

  private final class Remarks {
    var texts: [String] = []
  }

  init(world: OpaquePointer, plugin: OpaquePointer) {
    unsafe self.world = unsafe world
    unsafe self.plugin = unsafe plugin
    nodes = unsafe LilvNodes(world: world)
  }

  var description: PluginDescription {
    let faults = portFaults
    let ports =
      unsafe faults.isEmpty
      ? (0..<lilv_plugin_get_num_ports(plugin)).compactMap {
        unsafe lilv_plugin_get_port_by_index(plugin, $0).map(port)
      } : []
    let node = unsafe lilv_plugin_get_uri(plugin)
    let kind = unsafe lilv_plugin_get_class(plugin)
    let (presets, parameters) = (presets, parameters)
    return unsafe PluginDescription(
      uri: nodes.text(node) ?? "", name: nodes.takeText(lilv_plugin_get_name(plugin)) ?? "",
      author: nodes.takeText(lilv_plugin_get_author_name(plugin)),
      license: nodes.text(node, LV2.license),
      classURI: nodes.text(lilv_plugin_class_get_uri(kind)) ?? LV2.core("Plugin"),
      className: nodes.text(lilv_plugin_class_get_label(kind)) ?? "Plugin",
      bundle: path(lilv_plugin_get_bundle_uri(plugin)) ?? "",
      binary: path(lilv_plugin_get_library_uri(plugin)),
      requiredFeatures: nodes.take(lilv_plugin_get_required_features(plugin), nodes.text).sorted(),
      optionalFeatures: nodes.take(lilv_plugin_get_optional_features(plugin), nodes.text).sorted(),
      extensionData: nodes.take(lilv_plugin_get_extension_data(plugin), nodes.text).sorted(),
      ports: ports, groups: groups(of: ports), parameters: parameters, presets: presets,
      problems: problems(ports, faults), remarks: remarks.texts)
  }

  private func path(_ uri: OpaquePointer?) -> String? {
    guard let uri = unsafe uri, let path = unsafe lilv_node_get_path(uri, nil) else { return nil }
    defer { unsafe lilv_free(path) }
    return unsafe String(cString: path)
  }

  // MARK: Problems

  /// Maximum size in bytes of an event buffer that a plugin may ask for.
  private static let mostEventBytes = 1 << 26

  /// Errors in port indices that must not reach lilv: it allocates all ports up to the highest index,
  /// and a very large index overflows to a negative count.
  private var portFaults: [String] {
    let list = unsafe nodes.withURI(LV2.core("port")) {
      unsafe lilv_plugin_get_value(plugin, $0)
    }
    let indices = unsafe nodes.take(list) { port in
      unsafe nodes.take(nodes.objects(port, LV2.core("index"))) { index in
        unsafe lilv_node_is_int(index) ? (lilv_node_as_int(index), nodes.text(index) ?? "") : nil
      }
    }
    return indices.joined().filter { !(0..<indices.count).contains(Int($0.0)) }.map {
      "one of its \(indices.count) ports has the index \($0.1)"
    }
  }

  private func problems(_ ports: [PluginPort], _ portFaults: [String]) -> [String] {
    var found = portFaults
    if unsafe nodes.text(lilv_plugin_get_uri(plugin), LV2.name) == nil {
      found.append("it has no name (doap:name)")
    }
    if let binary = unsafe path(lilv_plugin_get_library_uri(plugin)) {
      if !FileManager.default.fileExists(atPath: binary) {
        found.append("its library \(binary) is missing")
      }
    } else {
      found.append("its bundle names no library (lv2:binary)")
    }
    // lilv drops ports that it refuses, so it has fewer than the bundle lists.
    let listed = unsafe nodes.take(
      nodes.objects(lilv_plugin_get_uri(plugin), LV2.core("port")), { unsafe nodes.text($0) }
    ).count
    if portFaults.isEmpty && ports.count < listed {
      found.append(
        "\(listed - ports.count) of its \(listed) ports lack a type, an index or a symbol")
    }
    for port in ports {
      if let bytes = port.minimumBytes, bytes > Self.mostEventBytes {
        found.append(
          "port \(port.index) (\(port.symbol)) asks for \(bytes) bytes, more than \(Self.mostEventBytes)"
        )
      }
      if port.name.isEmpty {
        found.append("port \(port.index) (\(port.symbol)) has no name (lv2:name)")
      }
      if port.kind == .other && !port.isOptional {
        found.append("port \(port.index) (\(port.symbol)) is of a kind that is not known")
      }
    }
    return found
  }

  // MARK: Ports

  private func has(_ port: OpaquePointer, _ property: String) -> Bool {
    unsafe nodes.withURI(property) { unsafe lilv_port_has_property(plugin, port, $0) }
  }

  private func isA(_ port: OpaquePointer, _ type: String) -> Bool {
    unsafe nodes.withURI(type) { unsafe lilv_port_is_a(plugin, port, $0) }
  }

  private func first(_ port: OpaquePointer, _ predicate: String) -> OpaquePointer? {
    unsafe nodes.withURI(predicate) { unsafe lilv_port_get(plugin, port, $0) }
  }

  private func port(_ port: OpaquePointer) -> PluginPort {
    var least: OpaquePointer?
    var most: OpaquePointer?
    var usual: OpaquePointer?
    unsafe lilv_port_get_range(plugin, port, &usual, &least, &most)
    defer { unsafe [usual, least, most].forEach { unsafe lilv_node_free($0) } }
    let kinds: [(String, PluginPort.Kind)] = [
      (LV2.core("AudioPort"), .audio), (LV2.core("CVPort"), .cv),
      (LV2.core("ControlPort"), .control), (LV2.atom("AtomPort"), .atom),
    ]
    let kind = kinds.first { unsafe isA(port, $0.0) }?.1 ?? .other
    let name = unsafe lilv_port_get_name(plugin, port)
    let size = unsafe first(port, LV2.resizePort("minimumSize"))
    defer { unsafe lilv_node_free(size) }
    let steps = unsafe first(port, LV2.portProperties("rangeSteps"))
    defer { unsafe lilv_node_free(steps) }
    let symbol = unsafe nodes.text(lilv_port_get_symbol(plugin, port)) ?? ""
    func bound(_ node: OpaquePointer?, _ name: String) -> Float? {
      let number = unsafe nodes.number(node)
      if let said = unsafe nodes.text(node), number == nil {
        remarks.texts.append("the lv2:\(name) of its port “\(symbol)” is no number: “\(said)”")
      }
      return number.map { Float($0) }
    }
    return unsafe PluginPort(
      index: Int(lilv_port_get_index(plugin, port)), symbol: symbol,
      name: nodes.takeText(name) ?? "",
      direction: isA(port, LV2.core("OutputPort")) ? .output : .input, kind: kind,
      defaultValue: unsafe bound(usual, "default"),
      minimum: unsafe bound(least, "minimum"), maximum: unsafe bound(most, "maximum"),
      unit: unsafe unit(of: port), scalePoints: unsafe scalePoints(of: port),
      steps: unsafe nodes.number(steps).flatMap { Int(exactly: $0.rounded()) },
      isLogarithmic: unsafe has(port, LV2.portProperties("logarithmic")),
      isInteger: unsafe has(port, LV2.core("integer")),
      isToggled: unsafe has(port, LV2.core("toggled")),
      isEnumeration: unsafe has(port, LV2.core("enumeration")),
      isTrigger: unsafe has(port, LV2.portProperties("trigger")),
      isOptional: unsafe has(port, LV2.core("connectionOptional")),
      isSampleRate: unsafe has(port, LV2.core("sampleRate")),
      isHidden: unsafe has(port, LV2.portProperties("notOnGUI")),
      reportsLatency: unsafe has(port, LV2.core("reportsLatency"))
        || isDesignated(port, LV2.core("latency")),
      properties: unsafe nodes.take(lilv_port_get_properties(plugin, port), nodes.text).sorted(),
      designation: unsafe nodes.takeText(first(port, LV2.core("designation"))),
      group: unsafe nodes.takeText(first(port, LV2.groups("group"))),
      minimumBytes: unsafe nodes.number(size).flatMap { Int(exactly: $0.rounded()) },
      eventTypes: unsafe nodes.take(
        nodes.withURI(LV2.atom("supports")) { unsafe lilv_port_get_value(plugin, port, $0) },
        unsafe nodes.text
      ).sorted())
  }

  private func isDesignated(_ port: OpaquePointer, _ designation: String) -> Bool {
    unsafe nodes.takeText(first(port, LV2.core("designation"))) == designation
  }

  /// Reads the scale points without lilv's own function, which aborts if no point has both a label and
  /// a value.
  private func scalePoints(of port: OpaquePointer) -> [PluginPort.ScalePoint] {
    let points = unsafe nodes.withURI(LV2.core("scalePoint")) {
      unsafe lilv_port_get_value(plugin, port, $0)
    }
    return unsafe nodes.take(points) { point in
      guard let value = unsafe nodes.number(point, LV2.value),
        let label = unsafe nodes.text(point, LV2.label)
      else { return nil }
      return PluginPort.ScalePoint(value: Float(value), label: label)
    }.sorted { $0.value < $1.value }
  }

  private func unit(of port: OpaquePointer) -> PluginUnit? {
    guard let node = unsafe first(port, LV2.units("unit")) else { return nil }
    defer { unsafe lilv_node_free(node) }
    return unsafe unit(node)
  }

  private func unit(_ node: OpaquePointer) -> PluginUnit {
    unsafe PluginUnit(
      uri: lilv_node_is_uri(node) ? nodes.text(node) : nil,
      name: nodes.text(node, LV2.units("name"))
        ?? nodes.text(node, LV2.label),
      symbol: nodes.text(node, LV2.units("symbol")), render: nodes.text(node, LV2.units("render")))
  }

  private func groups(of ports: [PluginPort]) -> [PortGroup] {
    var seen: Set<String> = []
    return ports.compactMap(\.group).filter { seen.insert($0).inserted }.compactMap { uri in
      // A blank-node group cannot be queried by name.
      unsafe nodes.ifURI(uri) { group in
        unsafe PortGroup(
          uri: uri,
          name: nodes.text(group, LV2.core("name"))
            ?? nodes.text(group, LV2.label),
          symbol: nodes.text(group, LV2.core("symbol")),
          types: nodes.texts(group, LV2.type).sorted())
      }
    }
  }

  // MARK: Parameters and presets

  private var parameters: [PluginParameter] {
    let plugin = unsafe lilv_plugin_get_uri(plugin)
    func named(_ predicate: String) -> [String] {
      unsafe nodes.take(nodes.objects(plugin, LV2.patch(predicate))) { node in
        let text = unsafe nodes.text(node) ?? ""
        if unsafe lilv_node_is_uri(node) { return text }
        remarks.texts.append("its patch:\(predicate) is “\(text)”, which is no URI")
        return nil
      }
    }
    let (writable, readable) = (named("writable"), named("readable"))
    return Set(writable + readable).sorted().compactMap { uri in
      unsafe nodes.ifURI(uri) { node in
        unsafe PluginParameter(
          uri: uri, label: nodes.text(node, LV2.label),
          range: nodes.text(node, LV2.range),
          defaultValue: nodes.number(node, LV2.core("default")),
          minimum: nodes.number(node, LV2.core("minimum")),
          maximum: nodes.number(node, LV2.core("maximum")),
          unit: nodes.take(nodes.objects(node, LV2.units("unit")), { unsafe unit($0) }).first,
          isWritable: writable.contains(uri), isReadable: readable.contains(uri))
      }
    }
  }

  private var presets: [PluginPreset] {
    let list = unsafe nodes.withURI(LV2.presets("Preset")) {
      unsafe lilv_plugin_get_related(plugin, $0)
    }
    return unsafe nodes.take(list) { node in
      guard unsafe lilv_node_is_uri(node), let uri = unsafe nodes.text(node) else {
        remarks.texts.append("one of its presets has no URI")
        return nil
      }
      // The label may be in a separate file of the preset.
      unsafe lilv_world_load_resource(world, node)
      return unsafe PluginPreset(
        uri: uri, label: nodes.text(node, LV2.label) ?? uri,
        bank: nodes.text(node, LV2.presets("bank")))
    }.sorted { ($0.label, $0.uri) < ($1.label, $1.uri) }
  }
}
