import '@xyflow/react/dist/base.css'
import { Graph, layout } from '@dagrejs/dagre'
import {
  BaseEdge,
  type Edge,
  type EdgeProps,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Panel,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
} from '@xyflow/react'
import { Lock, Maximize, RefreshCw, SearchX, Unplug, ZoomIn, ZoomOut } from 'lucide-react'
import { useEffect, useMemo, useState } from 'react'
import { Button, IconButton } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { StatusText } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { NoRun, RUN_GROUP_STYLE, type RunStatusFields, runState } from '../runs/run-status.tsx'
import { type DrawnGraph, curve, drawnGraph } from './graph-model.ts'
import type { DependencyGraph, GraphTrigger, GraphWorkspace, TriggersSearch } from './run-triggers.ts'
import { removal } from './trigger-list.tsx'

type GraphViewProps = {
  graph: DependencyGraph
  search: TriggersSearch
  onChange: (changes: TriggersSearch) => void
}

/** The triggers as a graph from sources on the left to destinations on the right. The list has the same for keyboards and screen readers. */
export default function GraphView({ graph, search, onChange }: GraphViewProps) {
  const drawn = useMemo(
    () => drawnGraph(graph, { q: search.q, project: search.project }),
    [graph, search.q, search.project],
  )
  if (drawn.workspaces.length === 0)
    return (
      <EmptyState
        icon={SearchX}
        title="No workspaces match"
        text="The graph has only workspaces with run triggers."
        actions={<Button label="Clear filters" onClick={() => onChange({ q: undefined, project: undefined })} />}
      />
    )
  const count = drawn.workspaces.length
  return (
    <div className="space-y-2">
      <p className="text-dim" role="status">
        {count < drawn.total
          ? `${count} of ${counted(drawn.total, 'workspace')} shown. Search or filter by project to see others; the list has all triggers.`
          : `${counted(count, 'workspace')}, ${counted(drawn.triggers.length, 'trigger')}`}
        {graph.truncated && ' Only the first 10,000 triggers of the organization are included.'}
      </p>
      <ReactFlowProvider>
        <Flow drawn={drawn} />
      </ReactFlowProvider>
    </div>
  )
}

const NODE = { width: 200, height: 52 } as const
/** Below this zoom, boxes are too small for links and details; a click zooms in. */
const FAR_ZOOM = 0.5
const COLOURS =
  '[&_a[target]]:text-dim! [--xy-attribution-background-color:var(--paper)] [--xy-edge-stroke-selected:var(--accent)] [--xy-edge-stroke:var(--line-strong)]'

type WorkspaceNode = Node<{ workspace: GraphWorkspace; isMatch: boolean }, 'workspace'>
const NODE_TYPES = { workspace: WorkspaceBox }
const EDGE_TYPES = { trigger: TriggerPath }

function Flow({ drawn }: { drawn: DrawnGraph }) {
  const { fitView, getZoom, zoomIn, zoomOut } = useReactFlow()
  const [selectedId, setSelectedId] = useState<string>()
  const selected = drawn.triggers.find(({ id }) => id === selectedId)
  const shape = drawn.workspaces.map(({ id }) => id).join() + drawn.triggers.map(({ id }) => id).join()
  // Statuses change often, the shape does not.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  const { positions, bends } = useMemo(() => layoutOf(drawn), [shape])
  const nodes = drawn.workspaces.map(({ isMatch, ...workspace }): WorkspaceNode => ({
    id: workspace.id,
    type: 'workspace',
    position: positions.get(workspace.id) ?? { x: 0, y: 0 },
    data: { workspace, isMatch },
    ...NODE,
  }))
  const edges = drawn.triggers.map((trigger) => ({
    ...edgeOf(trigger, bends.get(trigger.id) ?? [], trigger.id === selectedId),
    ariaLabel: Object.values(endsOf(trigger, drawn)).join(' triggers '),
  }))

  useEffect(() => {
    void fitView({ padding: 0.1, maxZoom: 1 })
  }, [shape, fitView])

  return (
    <div className={`h-[max(24rem,calc(100vh-24rem))] rounded-lg border border-line bg-paper ${COLOURS}`}>
      <ReactFlow
        aria-label="Graph of run triggers"
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodeClick={(_, { id }) => getZoom() < FAR_ZOOM && void fitView({ nodes: [{ id }], maxZoom: 1 })}
        onEdgeClick={(_, { id }) => setSelectedId(id)}
        onPaneClick={() => setSelectedId(undefined)}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        fitView
        fitViewOptions={{ padding: 0.1, maxZoom: 1 }}
        minZoom={0.1}
        maxZoom={1.5}
        onlyRenderVisibleElements={nodes.length > 100}
        preventScrolling={false}
        zoomOnScroll={false}
        panOnScroll={false}
      >
        <Panel position="top-right" className="flex gap-1">
          <IconButton label="Zoom in" icon={ZoomIn} kind="plain" size="small" onClick={() => void zoomIn()} />
          <IconButton label="Zoom out" icon={ZoomOut} kind="plain" size="small" onClick={() => void zoomOut()} />
          <IconButton
            label="Fit to view"
            icon={Maximize}
            kind="plain"
            size="small"
            onClick={() => void fitView({ padding: 0.1, maxZoom: 1 })}
          />
        </Panel>
        {selected && (
          <Panel position="top-left">
            <SelectedTrigger trigger={selected} drawn={drawn} />
          </Panel>
        )}
      </ReactFlow>
    </div>
  )
}

type Point = { x: number; y: number }

/** Positions of the workspaces and bends of the triggers by id, in layers from left to right. */
function layoutOf({ workspaces, triggers }: DrawnGraph) {
  const graph = new Graph()
  graph.setGraph({ rankdir: 'LR', nodesep: 20, ranksep: 80 })
  for (const { id } of workspaces) graph.setNode(id, { ...NODE })
  for (const trigger of triggers) graph.setEdge(trigger['sourceable-id'], trigger['workspace-id'], {})
  layout(graph)
  const positions = workspaces.map(({ id }) => {
    const { x, y } = graph.node(id) as Point
    return [id, { x: x - NODE.width / 2, y: y - NODE.height / 2 }] as const
  })
  const bends = triggers.map((trigger) => {
    const { points } = graph.edge(trigger['sourceable-id'], trigger['workspace-id']) as { points: Point[] }
    return [trigger.id, points] as const
  })
  return { positions: new Map(positions), bends: new Map(bends) }
}

type TriggerEdge = Edge<{ points: readonly Point[] }, 'trigger'>

function edgeOf({ id, cycle, ...trigger }: GraphTrigger, points: readonly Point[], isSelected: boolean): TriggerEdge {
  const colour = isSelected ? 'var(--accent)' : cycle === null ? 'var(--line-strong)' : 'var(--warn)'
  return {
    id,
    type: 'trigger',
    data: { points },
    source: trigger['sourceable-id'],
    target: trigger['workspace-id'],
    markerEnd: { type: MarkerType.ArrowClosed, color: colour, width: 18, height: 18 },
    style: { stroke: colour, strokeWidth: isSelected ? 2.5 : 1.5, ...(cycle !== null && { strokeDasharray: '6 4' }) },
    interactionWidth: 24,
  }
}

/** Follows the bends of the layout, which avoid the workspaces in between. */
function TriggerPath({ data, markerEnd, style, interactionWidth }: EdgeProps<TriggerEdge>) {
  const points = data?.points ?? []
  return (
    <BaseEdge
      path={curve(points)}
      {...(markerEnd !== undefined && { markerEnd })}
      {...(style && { style })}
      {...(interactionWidth !== undefined && { interactionWidth })}
    />
  )
}

function WorkspaceBox({ data: { workspace, isMatch } }: NodeProps<WorkspaceNode>) {
  const isFar = useStore(({ transform: [, , zoom] }) => zoom < FAR_ZOOM)
  const { name, cycle, locked, 'current-run': run } = workspace
  const border = cycle === null ? 'border-line-strong' : 'border-dashed border-warn'
  const box = `pointer-events-auto flex h-full flex-col justify-center rounded-md border px-3 ${border} ${isMatch ? 'bg-raised' : 'bg-ground'}`
  const status = run ? <CurrentRun status={run.status} /> : <NoRun />
  return (
    <>
      <Handle type="target" position={Position.Left} isConnectable={false} className="opacity-0" />
      {isFar ? (
        <span title={name} className={`${box} text-2xl`}>
          <span className="truncate">{name}</span>
        </span>
      ) : (
        <WorkspaceLink workspace={name} tab="triggers" title={name} className={`${box} nodrag nopan hover:bg-hover`}>
          <span className="flex items-center gap-1.5">
            <span className="min-w-0 flex-1 truncate font-medium">{name}</span>
            {locked && <Lock size={13} aria-label="locked" role="img" className="shrink-0 text-dim" />}
            {cycle !== null && (
              <span className="inline-flex shrink-0 items-center gap-0.5 text-xs text-warn">
                <RefreshCw size={12} />
                <span className="sr-only">cycle </span>
                {cycle}
              </span>
            )}
          </span>
          <span className="truncate text-xs">{status}</span>
        </WorkspaceLink>
      )}
      <Handle type="source" position={Position.Right} isConnectable={false} className="opacity-0" />
    </>
  )
}

function CurrentRun({ status }: Pick<RunStatusFields, 'status'>) {
  const { text, group } = runState({ status, 'plan-only': false })
  const shown = group === 'needs_approval' ? RUN_GROUP_STYLE[group].text.toLowerCase() : text
  return <StatusText {...RUN_GROUP_STYLE[group]} text={shown} isBusy={group === 'running'} />
}

/** The names of a trigger's workspaces. */
function endsOf(trigger: GraphTrigger, { workspaces }: DrawnGraph) {
  const nameOf = (id: string) => workspaces.find((workspace) => workspace.id === id)?.name ?? id
  return { source: nameOf(trigger['sourceable-id']), destination: nameOf(trigger['workspace-id']) }
}

function SelectedTrigger({ trigger, drawn }: { trigger: GraphTrigger; drawn: DrawnGraph }) {
  const { source, destination } = endsOf(trigger, drawn)
  const { 'last-fired-at': firedAt, cycle } = trigger
  return (
    <section
      aria-label="Selected trigger"
      className="max-w-sm space-y-2 rounded-md border border-line bg-raised px-3 py-2 shadow-lg"
    >
      <p className="font-medium">
        {source} → {destination}
      </p>
      <p className="text-dim">
        {firedAt === null ? (
          'Never fired'
        ) : (
          <>
            Last fired <RelativeTime at={firedAt} />
          </>
        )}
        {cycle !== null && `, part of cycle ${cycle}`}
      </p>
      <Confirm
        key={trigger.id}
        label="Remove"
        icon={Unplug}
        size="small"
        {...removal({ id: trigger.id, source, destination })}
      />
    </section>
  )
}
