import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json, jsonParseLinter } from '@codemirror/lang-json'
import { HighlightStyle, syntaxHighlighting, syntaxTree } from '@codemirror/language'
import { type Diagnostic, linter } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { EditorView, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { hcl } from 'codemirror-lang-hcl'
import { useEffect, useEffectEvent, useRef } from 'react'
import { STYLE_NONCE } from '../api/base.ts'

type EditorProps = {
  label: string
  language: 'hcl' | 'json' | 'text'
  value: string
  onChange: (value: string) => void
  describedBy?: string | undefined
}

/** A code editor with syntax errors. Load this file lazily. */
export default function Editor({ label, language, value, onChange, describedBy }: EditorProps) {
  const parent = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const change = useEffectEvent(onChange)

  useEffect(() => {
    if (!parent.current) return undefined
    const own = new EditorView({
      parent: parent.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          EditorView.cspNonce.of(STYLE_NONCE),
          lineNumbers(),
          history(),
          // Tab moves the focus, as elsewhere on the page.
          keymap.of([...defaultKeymap, ...historyKeymap]),
          syntaxHighlighting(COLOURS),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({
            'aria-label': label,
            ...(describedBy !== undefined && { 'aria-describedby': describedBy }),
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) change(update.state.doc.toString())
          }),
          ...(language === 'json' ? [json(), linter(jsonParseLinter())] : []),
          ...(language === 'hcl' ? [hcl(), linter(hclErrors)] : []),
          THEME,
        ],
      }),
    })
    view.current = own
    return () => own.destroy()
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the editor owns the text once created
  }, [label, language, describedBy])

  useEffect(() => {
    const own = view.current
    if (!own || own.state.doc.toString() === value) return
    own.dispatch({ changes: { from: 0, to: own.state.doc.length, insert: value } })
  }, [value])

  return <div ref={parent} className="mt-1 overflow-hidden rounded-md border border-line-strong bg-paper" />
}

function hclErrors({ state }: EditorView): Diagnostic[] {
  const faults: Diagnostic[] = []
  syntaxTree(state).iterate({
    enter: (node) => {
      if (!node.type.isError) return
      faults.push({
        from: node.from,
        to: Math.max(node.to, Math.min(node.from + 1, state.doc.length)),
        severity: 'error',
        message: 'invalid HCL',
      })
    },
  })
  return faults.slice(0, 20)
}

const THEME = EditorView.theme({
  '&': { fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-content': { fontFamily: 'var(--font-mono)', caretColor: 'var(--ink)', minHeight: '4.5rem' },
  '.cm-gutters': { background: 'var(--ground)', color: 'var(--dim)', border: 'none' },
  '.cm-scroller': { maxHeight: '40vh', overflow: 'auto' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': {
    background: 'color-mix(in srgb, var(--accent) 25%, transparent) !important',
  },
})

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null, tags.atom], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.literal], color: 'var(--warn)' },
  { tag: [tags.propertyName, tags.attributeName, tags.definition(tags.variableName)], color: 'var(--busy)' },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: 'var(--dim)' },
  { tag: tags.invalid, color: 'var(--bad)' },
])
