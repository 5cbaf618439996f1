import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, type Ref, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { Pane } from '../../../components/pane.tsx'
import { spansOf } from './ansi.ts'
import { markedSpans } from './log-search.ts'
import type { LogText } from './log-text.ts'

const ROW_PX = 20
/** Nobody reads more of one line, and a browser takes long to lay it out; the download has all of it. */
const LONGEST = 4000
/** So near to the end the reader counts as being there, in px. */
const NEAR_PX = 24

export type LogRowsHandle = { showLine: (index: number) => void; bringToSight: (index: number) => void }

type LogRowsProps = {
  label: string
  text: LogText
  version: number
  isWrapped: boolean
  /** More may come. */
  isLive: boolean
  searched: string
  /** The index of the line to stand out. */
  current: number | undefined
  /** Where to begin: at a line, or at the end, which is then followed. */
  beginAt: number | 'end' | undefined
  hrefOf: (line: number) => string
  onLine: (line: number) => void
  className: string
  ref: Ref<LogRowsHandle>
}

/** The lines of a log in a pane of their own; only those in sight are in the page. */
export function LogRows(props: LogRowsProps) {
  const { label, text, version, isWrapped, isLive, searched, current, beginAt, hrefOf, onLine, className, ref } = props
  const pane = useRef<HTMLDivElement>(null)
  /** Whether the reader is at the end: then the pane follows the log. */
  const [isFollowing, setIsFollowing] = useState(beginAt === 'end')
  const [seen, setSeen] = useState(0)
  const count = text.count()
  // oxlint-disable-next-line react/incompatible-library -- nothing here is memoized, as in the kit's `VirtualRows`
  const rows = useVirtualizer({
    count,
    getScrollElement: () => pane.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
    useFlushSync: false,
  })

  useEffect(() => rows.measure(), [rows, isWrapped])
  const height = rows.getTotalSize()
  useLayoutEffect(() => {
    if (isFollowing && pane.current) pane.current.scrollTop = pane.current.scrollHeight
  }, [isFollowing, version, height])
  const begun = useRef(false)
  useLayoutEffect(() => {
    if (begun.current || typeof beginAt !== 'number' || beginAt >= count) return
    begun.current = true
    rows.scrollToIndex(beginAt, { align: 'center' })
  }, [rows, beginAt, count])

  useImperativeHandle(ref, () => ({
    showLine(index) {
      setIsFollowing(false)
      setSeen(count)
      rows.scrollToIndex(index, { align: 'center' })
    },
    bringToSight(index) {
      const { startIndex, endIndex } = rows.range ?? { startIndex: 0, endIndex: 0 }
      if (index < count && (index < startIndex || index > endIndex)) rows.scrollToIndex(index, { align: 'center' })
    },
  }))

  function showEnd() {
    setIsFollowing(true)
    pane.current?.focus({ preventScroll: true })
  }
  function onScroll() {
    if (!pane.current) return
    const { scrollHeight, scrollTop, clientHeight } = pane.current
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_PX
    if (isAtEnd === isFollowing) return
    setIsFollowing(isAtEnd)
    setSeen(count)
  }

  const fresh = count - seen
  const digits = String(count).length
  // The longest line gives the width: lines out of sight are not in the page.
  const width = isWrapped ? '100%' : `max(100%, ${Math.min(LONGEST, text.widest()) + digits + 6}ch)`
  return (
    <div className="relative min-h-0 flex-1">
      <Pane
        ref={pane}
        label={label}
        onScroll={onScroll}
        className={`overscroll-contain bg-paper font-mono text-[0.9285rem] leading-5 ${className}`}
      >
        <div className="relative" style={{ height, width }}>
          {rows.getVirtualItems().map((item) => (
            <Row
              key={item.key}
              ref={isWrapped ? rows.measureElement : undefined}
              index={item.index}
              top={item.start}
              digits={digits}
              text={text}
              isWrapped={isWrapped}
              isCurrent={item.index === current}
              searched={searched}
              hrefOf={hrefOf}
              onLine={onLine}
            />
          ))}
        </div>
      </Pane>
      {isLive && !isFollowing && (
        <div className="absolute inset-x-0 bottom-3 flex justify-center">
          <Button kind="primary" size="small" onClick={showEnd}>
            Jump to live{fresh > 0 && ` (${fresh.toLocaleString('en')} new)`}
          </Button>
        </div>
      )}
    </div>
  )
}

type RowProps = Pick<LogRowsProps, 'text' | 'isWrapped' | 'searched' | 'hrefOf' | 'onLine'> & {
  index: number
  /** In px. */
  top: number
  digits: number
  isCurrent: boolean
  ref: Ref<HTMLDivElement> | undefined
}

/** While one scrolls, only the rows that come into sight are drawn. */
const Row = memo(function Row({ index, top, digits, isCurrent, ref, hrefOf, onLine, ...line }: RowProps) {
  return (
    <div
      ref={ref}
      data-index={index}
      className={`absolute inset-x-0 flex ${isCurrent ? 'bg-accent-soft' : ''}`}
      style={{ top }}
    >
      <a
        href={hrefOf(index + 1)}
        aria-label={`Line ${index + 1}`}
        tabIndex={isCurrent ? 0 : -1}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return
          event.preventDefault()
          onLine(index + 1)
        }}
        className={`numeric shrink-0 pr-3 pl-2 text-right text-dim no-underline select-none hover:text-accent ${line.isWrapped ? '' : 'sticky left-0 bg-paper'}`}
        style={{ minWidth: `${digits * 0.6 + 1.5}rem` }}
      >
        {index + 1}
      </a>
      <LineText index={index} {...line} />
    </div>
  )
})

function LineText({ text, index, searched, isWrapped }: Pick<RowProps, 'text' | 'index' | 'searched' | 'isWrapped'>) {
  const line = text.line(index)
  const isCut = line.plain.length > LONGEST
  const spans = isCut ? [{ text: line.plain.slice(0, LONGEST), className: '' }] : spansOf(line.text, line.look)
  return (
    <div className={`min-w-0 pr-4 ${isWrapped ? 'whitespace-pre-wrap' : 'whitespace-pre'}`}>
      {markedSpans(spans, searched).map(({ text: part, className, isMarked, at }) =>
        isMarked ? (
          <mark key={at} className="rounded-sm bg-warn text-paper">
            {part}
          </mark>
        ) : className === '' ? (
          part
        ) : (
          <span key={at} className={className}>
            {part}
          </span>
        ),
      )}
      {isCut && (
        <span className="font-sans text-dim">
          {' '}
          … {(line.plain.length - LONGEST).toLocaleString('en')} more characters
        </span>
      )}
      {/* An empty line keeps its height. */}
      {line.plain === '' && '\u200b'}
    </div>
  )
}
