import AudioUnits
public import CAudioToolbox
import CRealTime
import RealTime

// The functions of AUGraph.h. The header documents each function.

/// The graphs of this process by the numbers that C programs hold.
let graphs = HandleTable<UnitGraph>()

/// Runs the body of a C function with a graph.
private func withGraph(
  _ reference: AUGraph?, _ function: String, needs pointers: UnsafeRawPointer?...,
  body: (UnitGraph) throws(UnitGraphError) -> Void
) -> OSStatus {
  answer(function) { () throws(AUGraphError) in
    guard let graph = graphs.object(UInt(bitPattern: reference)) else { throw .noSuchGraph }
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    do throws(UnitGraphError) { try body(graph) } catch { throw .graph(error) }
  }
}

/// Makes an empty graph.
@c @implementation
public func NewAUGraph(_ outGraph: UnsafeMutablePointer<AUGraph?>) -> OSStatus {
  answer("NewAUGraph") { () throws(AUGraphError) in
    try unsafe putHandle(in: outGraph, of: graphs) { () throws(AUGraphError) in
      UnitGraph(
        making: { component throws(UnitError) in
          let unit = try component.makeUnit()
          do throws(AudioUnitError) {
            _ = try UnitHandles.shared.add(unit, of: component)
          } catch {
            throw .tooManyInstances
          }
          return unit
        },
        disposing: { unit in
          _ = unsafe AudioComponentInstanceDispose(UnitHandles.shared.reference(of: unit))
        })
    }
  }
}

/// Stops a graph and disposes of its units.
@c @implementation
public func DisposeAUGraph(_ inGraph: AUGraph?) -> OSStatus {
  guard unsafe inGraph != nil else { return noErr }
  return answer("DisposeAUGraph") { () throws(AUGraphError) in
    guard let graph = graphs.remove(UInt(bitPattern: inGraph)) else { throw .noSuchGraph }
    graph.dispose()
  }
}

// MARK: Nodes

/// Adds a node.
@c @implementation
public func AUGraphAddNode(
  _ inGraph: AUGraph, _ inDescription: UnsafePointer<AudioComponentDescription>,
  _ outNode: UnsafeMutablePointer<AUNode>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphAddNode", needs: inDescription, outNode) {
    graph throws(UnitGraphError) in
    guard let component = unsafe component(inDescription.pointee) else {
      throw .unit(.unsupported("there is no such component"))
    }
    unsafe outNode.pointee = try graph.addNode(component)
  }
}

/// Removes a node with its connections, and disposes of its unit.
@c @implementation
public func AUGraphRemoveNode(_ inGraph: AUGraph, _ inNode: AUNode) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphRemoveNode") { graph throws(UnitGraphError) in
    try graph.removeNode(inNode)
  }
}

/// Returns the number of nodes.
@c @implementation
public func AUGraphGetNodeCount(
  _ inGraph: AUGraph, _ outNumberOfNodes: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphGetNodeCount", needs: outNumberOfNodes) { graph in
    unsafe outNumberOfNodes.pointee = UInt32(graph.nodes.count)
  }
}

/// Returns the node of an index.
@c @implementation
public func AUGraphGetIndNode(
  _ inGraph: AUGraph, _ inIndex: UInt32, _ outNode: UnsafeMutablePointer<AUNode>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphGetIndNode", needs: outNode) { graph throws(UnitGraphError) in
    let nodes = graph.nodes
    guard inIndex < nodes.count else { throw .nodeNotFound(AUNode(clamping: inIndex)) }
    unsafe outNode.pointee = nodes[Int(inIndex)]
  }
}

/// Returns a node's description and unit.
@c @implementation
public func AUGraphNodeInfo(
  _ inGraph: AUGraph, _ inNode: AUNode,
  _ outDescription: UnsafeMutablePointer<AudioComponentDescription>?,
  _ outAudioUnit: UnsafeMutablePointer<AudioUnit?>?
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphNodeInfo") { graph throws(UnitGraphError) in
    let (component, unit) = try graph.node(inNode)
    if let outDescription = unsafe outDescription {
      unsafe outDescription.pointee = description(component)
    }
    if let outAudioUnit = unsafe outAudioUnit {
      unsafe outAudioUnit.pointee = unit.flatMap {
        unsafe UnitHandles.shared.reference(of: $0)
      }
    }
  }
}

// MARK: Connections

/// Connects an output of a node to an input of another.
@c @implementation
public func AUGraphConnectNodeInput(
  _ inGraph: AUGraph, _ inSourceNode: AUNode, _ inSourceOutputNumber: UInt32,
  _ inDestNode: AUNode, _ inDestInputNumber: UInt32
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphConnectNodeInput") { graph throws(UnitGraphError) in
    try graph.set(
      .node(inSourceNode, output: inSourceOutputNumber),
      for: UnitGraph.Input(node: inDestNode, bus: inDestInputNumber))
  }
}

/// Sets an input's render callback.
@c @implementation
public func AUGraphSetNodeInputCallback(
  _ inGraph: AUGraph, _ inDestNode: AUNode, _ inDestInputNumber: UInt32,
  _ inInputCallback: UnsafePointer<AURenderCallbackStruct>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphSetNodeInputCallback", needs: inInputCallback) {
    graph throws(UnitGraphError) in
    let callback = unsafe inInputCallback.pointee
    var supply: UnitGraph.Supply?
    if let proc = unsafe callback.inputProc {
      supply = unsafe .callback(
        unsafeBitCast(proc, to: cue_render_proc.self), callback.inputProcRefCon)
    }
    try graph.set(supply, for: UnitGraph.Input(node: inDestNode, bus: inDestInputNumber))
  }
}

/// Removes what supplies an input.
@c @implementation
public func AUGraphDisconnectNodeInput(
  _ inGraph: AUGraph, _ inDestNode: AUNode, _ inDestInputNumber: UInt32
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphDisconnectNodeInput") { graph throws(UnitGraphError) in
    try graph.set(nil, for: UnitGraph.Input(node: inDestNode, bus: inDestInputNumber))
  }
}

/// Removes all connections and render callbacks.
@c @implementation
public func AUGraphClearConnections(_ inGraph: AUGraph) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphClearConnections") { graph in graph.clearSupplies() }
}

/// Applies what waits.
@c @implementation
public func AUGraphUpdate(
  _ inGraph: AUGraph, _ outIsUpdated: UnsafeMutablePointer<Bool>?
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphUpdate") { graph throws(UnitGraphError) in
    try graph.update()
    if let outIsUpdated = unsafe outIsUpdated { unsafe outIsUpdated.pointee = true }
  }
}

/// Returns an input and what supplies it as C programs see it.
private func interaction(_ item: (input: UnitGraph.Input, supply: UnitGraph.Supply))
  -> AUNodeInteraction
{
  var result = unsafe AUNodeInteraction()
  switch item.supply {
  case .node(let source, let output):
    unsafe result.nodeInteractionType = UInt32(kAUNodeInteraction_Connection)
    unsafe result.nodeInteraction.connection = AUNodeConnection(
      sourceNode: source, sourceOutputNumber: output, destNode: item.input.node,
      destInputNumber: item.input.bus)
  case .callback(let proc, let data):
    unsafe result.nodeInteractionType = UInt32(kAUNodeInteraction_InputCallback)
    unsafe result.nodeInteraction.inputCallback = AUNodeRenderCallback(
      destNode: item.input.node, destInputNumber: item.input.bus,
      cback: AURenderCallbackStruct(
        inputProc: unsafeBitCast(proc, to: AURenderCallback.self), inputProcRefCon: data))
  }
  return unsafe result
}

/// Returns the number of connections and render callbacks.
@c @implementation
public func AUGraphGetNumberOfInteractions(
  _ inGraph: AUGraph, _ outNumInteractions: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphGetNumberOfInteractions", needs: outNumInteractions) { graph in
    unsafe outNumInteractions.pointee = UInt32(graph.supplies.count)
  }
}

/// Returns one of them.
@c @implementation
public func AUGraphGetInteractionInfo(
  _ inGraph: AUGraph, _ inInteractionIndex: UInt32,
  _ outInteraction: UnsafeMutablePointer<AUNodeInteraction>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphGetInteractionInfo", needs: outInteraction) {
    graph throws(UnitGraphError) in
    let supplies = graph.supplies
    guard inInteractionIndex < supplies.count else {
      throw .invalidConnection("there are \(supplies.count) connections and callbacks")
    }
    unsafe outInteraction.pointee = interaction(supplies[Int(inInteractionIndex)])
  }
}

/// Returns the connections and callbacks that a node has a part in.
private func interactions(of node: AUNode, in graph: UnitGraph) throws(UnitGraphError)
  -> [(input: UnitGraph.Input, supply: UnitGraph.Supply)]
{
  _ = try graph.node(node)
  return graph.supplies.filter { $0.input.node == node || $0.supply.source == node }
}

/// Returns the number of those that a node has a part in.
@c @implementation
public func AUGraphCountNodeInteractions(
  _ inGraph: AUGraph, _ inNode: AUNode, _ outNumInteractions: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphCountNodeInteractions", needs: outNumInteractions) {
    graph throws(UnitGraphError) in
    unsafe outNumInteractions.pointee = UInt32(try interactions(of: inNode, in: graph).count)
  }
}

/// Copies those that a node has a part in.
@c @implementation
public func AUGraphGetNodeInteractions(
  _ inGraph: AUGraph, _ inNode: AUNode, _ ioNumInteractions: UnsafeMutablePointer<UInt32>,
  _ outInteractions: UnsafeMutablePointer<AUNodeInteraction>
) -> OSStatus {
  unsafe withGraph(
    inGraph, "AUGraphGetNodeInteractions", needs: ioNumInteractions, outInteractions
  ) { graph throws(UnitGraphError) in
    let found = try interactions(of: inNode, in: graph).prefix(
      Int(unsafe ioNumInteractions.pointee))
    for (i, item) in found.enumerated() { unsafe outInteractions[i] = interaction(item) }
    unsafe ioNumInteractions.pointee = UInt32(found.count)
  }
}

// MARK: States

/// Makes the nodes' units.
@c @implementation
public func AUGraphOpen(_ inGraph: AUGraph) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphOpen") { graph throws(UnitGraphError) in try graph.open() }
}

/// Stops the graph and disposes of its units.
@c @implementation
public func AUGraphClose(_ inGraph: AUGraph) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphClose") { graph in graph.close() }
}

/// Makes all connections and initialises all units.
@c @implementation
public func AUGraphInitialize(_ inGraph: AUGraph) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphInitialize") { graph throws(UnitGraphError) in
    try graph.initialize()
  }
}

/// Stops the graph and uninitialises its units.
@c @implementation
public func AUGraphUninitialize(_ inGraph: AUGraph) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphUninitialize") { graph in graph.uninitialize() }
}

/// Starts the output unit.
@c @implementation
public func AUGraphStart(_ inGraph: AUGraph) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphStart") { graph throws(UnitGraphError) in try graph.start() }
}

/// Stops the output unit.
@c @implementation
public func AUGraphStop(_ inGraph: AUGraph) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphStop") { graph in graph.stop() }
}

/// Tells whether the nodes have units.
@c @implementation
public func AUGraphIsOpen(
  _ inGraph: AUGraph, _ outIsOpen: UnsafeMutablePointer<Bool>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphIsOpen", needs: outIsOpen) { graph in
    unsafe outIsOpen.pointee = graph.isOpen
  }
}

/// Tells whether the units are initialised.
@c @implementation
public func AUGraphIsInitialized(
  _ inGraph: AUGraph, _ outIsInitialized: UnsafeMutablePointer<Bool>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphIsInitialized", needs: outIsInitialized) { graph in
    unsafe outIsInitialized.pointee = graph.isInitialized
  }
}

/// Tells whether the output unit is started.
@c @implementation
public func AUGraphIsRunning(
  _ inGraph: AUGraph, _ outIsRunning: UnsafeMutablePointer<Bool>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphIsRunning", needs: outIsRunning) { graph in
    unsafe outIsRunning.pointee = graph.isRunning
  }
}

/// Returns the share of its time that the latest cycle took.
@c @implementation
public func AUGraphGetCPULoad(
  _ inGraph: AUGraph, _ outAverageCPULoad: UnsafeMutablePointer<Float32>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphGetCPULoad", needs: outAverageCPULoad) { graph in
    unsafe outAverageCPULoad.pointee = graph.load
  }
}

/// Returns the largest such share since the last call.
@c @implementation
public func AUGraphGetMaxCPULoad(
  _ inGraph: AUGraph, _ outMaxLoad: UnsafeMutablePointer<Float32>
) -> OSStatus {
  unsafe withGraph(inGraph, "AUGraphGetMaxCPULoad", needs: outMaxLoad) { graph in
    unsafe outMaxLoad.pointee = graph.takeMostLoad()
  }
}

/// Adds a function to call before and after each render of the output unit.
@c @implementation
public func AUGraphAddRenderNotify(
  _ inGraph: AUGraph, _ inCallback: @escaping AURenderCallback,
  _ inRefCon: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withGraph(
    inGraph, "AUGraphAddRenderNotify",
    needs: unsafeBitCast(inCallback, to: UnsafeRawPointer?.self)
  ) { graph throws(UnitGraphError) in
    try unsafe graph.add(UnitNotify(unsafeBitCast(inCallback, to: cue_render_proc.self), inRefCon))
  }
}

/// Removes such a function.
@c @implementation
public func AUGraphRemoveRenderNotify(
  _ inGraph: AUGraph, _ inCallback: @escaping AURenderCallback,
  _ inRefCon: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withGraph(
    inGraph, "AUGraphRemoveRenderNotify",
    needs: unsafeBitCast(inCallback, to: UnsafeRawPointer?.self)
  ) { graph throws(UnitGraphError) in
    try unsafe graph.remove(
      UnitNotify(unsafeBitCast(inCallback, to: cue_render_proc.self), inRefCon))
  }
}

// MARK: Before 10.5

/// Adds a node, as AUGraphAddNode does.
@c @implementation
public func AUGraphNewNode(
  _ inGraph: AUGraph, _ inDescription: UnsafePointer<CAudioToolbox.ComponentDescription>,
  _ inClassDataSize: UInt32, _ inClassData: UnsafeRawPointer?,
  _ outNode: UnsafeMutablePointer<AUNode>
) -> OSStatus {
  unsafe AUGraphAddNode(inGraph, inDescription, outNode)
}

/// Returns a node's description and unit.
@c @implementation
public func AUGraphGetNodeInfo(
  _ inGraph: AUGraph, _ inNode: AUNode,
  _ outDescription: UnsafeMutablePointer<CAudioToolbox.ComponentDescription>?,
  _ outClassDataSize: UnsafeMutablePointer<UInt32>?,
  _ outClassData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ outAudioUnit: UnsafeMutablePointer<AudioUnit?>?
) -> OSStatus {
  if let outClassDataSize = unsafe outClassDataSize { unsafe outClassDataSize.pointee = 0 }
  if let outClassData = unsafe outClassData { unsafe outClassData.pointee = nil }
  return unsafe AUGraphNodeInfo(inGraph, inNode, outDescription, outAudioUnit)
}
