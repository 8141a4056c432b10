import CLilv
import Foundation

/// Makes a plugin's description of what lilv knows, under the lock of its world.
@safe
struct PluginReader {
  private let world: OpaquePointer
  private let plugin: OpaquePointer
  private let nodes: Nodes

  init(world: OpaquePointer, plugin: OpaquePointer) {
    unsafe self.world = unsafe world
    unsafe self.plugin = unsafe plugin
    nodes = unsafe Nodes(world: world)
  }

  var description: PluginDescription {
    let ports = unsafe (0..<lilv_plugin_get_num_ports(plugin)).compactMap {
      unsafe lilv_plugin_get_port_by_index(plugin, $0).map(port)
    }
    let node = unsafe lilv_plugin_get_uri(plugin)
    let kind = unsafe lilv_plugin_get_class(plugin)
    let presets = presets
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
      problems: problems(ports))
  }

  private func path(_ uri: OpaquePointer?) -> String? {
    guard let uri = unsafe uri, let path = unsafe lilv_node_get_path(uri, nil) else { return nil }
    defer { unsafe lilv_free(path) }
    return unsafe String(cString: path)
  }

  // MARK: What is wrong

  /// Bytes of the largest event buffer that a plugin may ask for.
  private static let mostEventBytes = 1 << 24

  private func problems(_ ports: [PluginPort]) -> [String] {
    var found: [String] = []
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
    // What lilv refuses has fewer ports than the bundle lists.
    let listed = unsafe nodes.take(
      nodes.objects(lilv_plugin_get_uri(plugin), LV2.core("port")), { unsafe nodes.text($0) }
    ).count
    if ports.count < listed {
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
    return unsafe PluginPort(
      index: Int(lilv_port_get_index(plugin, port)),
      symbol: nodes.text(lilv_port_get_symbol(plugin, port)) ?? "",
      name: nodes.takeText(name) ?? "",
      direction: isA(port, LV2.core("OutputPort")) ? .output : .input, kind: kind,
      defaultValue: nodes.number(usual).map { Float($0) },
      minimum: unsafe nodes.number(least).map { Float($0) },
      maximum: unsafe nodes.number(most).map { Float($0) },
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

  private func scalePoints(of port: OpaquePointer) -> [PluginPort.ScalePoint] {
    guard let points = unsafe lilv_port_get_scale_points(plugin, port) else { return [] }
    defer { unsafe lilv_scale_points_free(points) }
    var found: [PluginPort.ScalePoint] = []
    var place = unsafe lilv_scale_points_begin(points)
    while unsafe !lilv_scale_points_is_end(points, place) {
      let point = unsafe lilv_scale_points_get(points, place)
      if let value = unsafe nodes.number(lilv_scale_point_get_value(point)),
        let label = unsafe nodes.text(lilv_scale_point_get_label(point))
      {
        found.append(PluginPort.ScalePoint(value: Float(value), label: label))
      }
      unsafe place = unsafe lilv_scale_points_next(points, place)
    }
    return found.sorted { $0.value < $1.value }
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
      // A group without a URI of its own cannot be asked about by its name.
      guard uri.contains(":") else { return nil }
      return unsafe nodes.withURI(uri) { group in
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
    let writable = unsafe nodes.texts(plugin, LV2.patch("writable"))
    let readable = unsafe nodes.texts(plugin, LV2.patch("readable"))
    return Set(writable + readable).sorted().map { uri in
      unsafe nodes.withURI(uri) { node in
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
      // The label may be in a file of the preset's own.
      unsafe lilv_world_load_resource(world, node)
      guard let uri = unsafe nodes.text(node) else { return nil }
      return unsafe PluginPreset(
        uri: uri, label: nodes.text(node, LV2.label) ?? uri,
        bank: nodes.text(node, LV2.presets("bank")))
    }.sorted { ($0.label, $0.uri) < ($1.label, $1.uri) }
  }
}
