import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, type Ref, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { Pane } from '../../../components/pane.tsx'
import { MarkedText } from '../../../components/text-search.tsx'
import { spansOf } from './ansi.ts'
import type { LogText } from './log-text.ts'

const ROW_PX = 20
/** Longer lines are truncated since they are slow to lay out; the download contains all of them. */
const MAX_LINE_LENGTH = 4000
/** Maximum distance from the end at which the pane follows the log. */
const END_MARGIN_PX = 24

/** `ensureVisible` scrolls only if the line is not visible. */
export type LogRowsHandle = { scrollTo: (index: number) => void; ensureVisible: (index: number) => void }

type LogRowsProps = {
  label: string
  text: LogText
  version: number
  isWrapped: boolean
  isLive: boolean
  query: string
  current: number | undefined
  /** Initial position: the index of a line, or the end, which is then followed. */
  beginAt: number | 'end' | undefined
  hrefOf: (line: number) => string
  onLine: (line: number) => void
  className: string
  ref: Ref<LogRowsHandle>
}

export function LogRows(props: LogRowsProps) {
  const { label, text, version, isWrapped, isLive, query, current, beginAt, hrefOf, onLine, className, ref } = props
  const pane = useRef<HTMLDivElement>(null)
  /** Whether the pane is scrolled to the end, and scrolls on as the log grows. */
  const [isFollowing, setIsFollowing] = useState(beginAt === 'end')
  const [seenCount, setSeenCount] = useState(0)
  /** Whether it is scrolled sideways. Sticky numbers make scrolling slow, so they are only sticky then. */
  const [isShifted, setIsShifted] = useState(false)
  const count = text.count()
  // oxlint-disable-next-line react/incompatible-library -- nothing here is memoized, as in the kit's `VirtualRows`
  const rows = useVirtualizer({
    count,
    getScrollElement: () => pane.current,
    estimateSize: () => ROW_PX,
    overscan: 5,
    useFlushSync: false,
  })

  useEffect(() => rows.measure(), [rows, isWrapped])
  const height = rows.getTotalSize()
  useLayoutEffect(() => {
    if (isFollowing && pane.current) pane.current.scrollTop = pane.current.scrollHeight
  }, [isFollowing, version, height])
  const isPositioned = useRef(false)
  useLayoutEffect(() => {
    if (isPositioned.current || typeof beginAt !== 'number' || beginAt >= count) return
    isPositioned.current = true
    rows.scrollToIndex(beginAt, { align: 'center' })
  }, [rows, beginAt, count])

  useImperativeHandle(ref, () => ({
    scrollTo(index) {
      setIsFollowing(false)
      setSeenCount(count)
      rows.scrollToIndex(index, { align: 'center' })
    },
    ensureVisible(index) {
      const { startIndex, endIndex } = rows.range ?? { startIndex: 0, endIndex: 0 }
      if (index < count && (index < startIndex || index > endIndex)) rows.scrollToIndex(index, { align: 'center' })
    },
  }))

  function followEnd() {
    setIsFollowing(true)
    pane.current?.focus({ preventScroll: true })
  }
  function onScroll() {
    if (!pane.current) return
    const { scrollHeight, scrollTop, scrollLeft, clientHeight } = pane.current
    setIsShifted(scrollLeft > 0)
    const isAtEnd = scrollHeight - scrollTop - clientHeight < END_MARGIN_PX
    if (isAtEnd === isFollowing) return
    setIsFollowing(isAtEnd)
    setSeenCount(count)
  }

  const items = rows.getVirtualItems()
  const newText = count > seenCount ? ` (${(count - seenCount).toLocaleString('en')} new)` : ''
  const digits = String(count).length
  // The visible lines alone would change the width while scrolling.
  const width = isWrapped ? '100%' : `max(100%, ${Math.min(MAX_LINE_LENGTH, text.maxLength()) + digits + 6}ch)`
  return (
    <div className="relative min-h-0 flex-1">
      <Pane
        ref={pane}
        label={label}
        onScroll={onScroll}
        data-shifted={isShifted || undefined}
        className={`overscroll-contain bg-paper contain-content [overflow-anchor:none] font-mono text-[0.9285rem] leading-5 ${className}`}
      >
        <div style={{ height, width, paddingTop: items[0]?.start ?? 0 }}>
          {items.map((item) => (
            <Row
              key={item.key}
              ref={isWrapped ? rows.measureElement : undefined}
              index={item.index}
              isCurrent={item.index === current}
              {...{ digits, text, isWrapped, query, hrefOf, onLine }}
            />
          ))}
        </div>
      </Pane>
      {isLive && !isFollowing && (
        <div className="absolute inset-x-0 bottom-3 flex justify-center">
          <Button kind="primary" size="small" label={`Jump to latest${newText}`} onClick={followEnd} />
        </div>
      )}
    </div>
  )
}

type LineProps = Pick<LogRowsProps, 'text' | 'isWrapped' | 'query'> & { index: number }
type RowPlacement = { digits: number; isCurrent: boolean; ref: Ref<HTMLDivElement> | undefined }
type RowProps = LineProps & RowPlacement & Pick<LogRowsProps, 'hrefOf' | 'onLine'>

/** Memoised so that scrolling renders only the rows that become visible. */
const Row = memo(function Row({ index, digits, isCurrent, ref, hrefOf, onLine, ...line }: RowProps) {
  return (
    <div ref={ref} data-index={index} className={`flex ${isCurrent ? 'bg-accent-soft' : ''}`}>
      <a
        href={hrefOf(index + 1)}
        aria-label={`Line ${index + 1}`}
        tabIndex={isCurrent ? 0 : -1}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return
          event.preventDefault()
          onLine(index + 1)
        }}
        className={`numeric shrink-0 pr-3 pl-2 text-right text-dim no-underline select-none hover:text-accent ${line.isWrapped ? '' : 'in-data-shifted:sticky in-data-shifted:left-0 in-data-shifted:bg-paper'}`}
        style={{ minWidth: `${digits * 0.6 + 1.5}rem` }}
      >
        {index + 1}
      </a>
      <LineText index={index} {...line} />
    </div>
  )
})

function LineText({ text, index, query, isWrapped }: LineProps) {
  const line = text.line(index)
  const isTruncated = line.plain.length > MAX_LINE_LENGTH
  const spans = isTruncated
    ? [{ text: line.plain.slice(0, MAX_LINE_LENGTH), className: '' }]
    : spansOf(line.text, line.style)
  return (
    <div className={`min-w-0 pr-4 ${isWrapped ? 'whitespace-pre-wrap' : 'whitespace-pre'}`}>
      <MarkedText spans={spans} query={query} mark="rounded-sm bg-warn text-paper" />
      {isTruncated && (
        <span className="font-sans text-dim">
          {` … ${(line.plain.length - MAX_LINE_LENGTH).toLocaleString('en')} more characters`}
        </span>
      )}
      {/* Gives an empty line its height. */}
      {line.plain === '' && '\u200b'}
    </div>
  )
}
