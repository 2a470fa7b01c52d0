/** CSS animations and transitions on virtual time; their end events fire in the tick in which they end. */

import type { VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;

export interface Animations {
  /** Takes over what has begun since the last call. Forces style: as often as the game needs it, no more. */
  collect(): void;
  /** Moves those taken over to where they are now. */
  advance(): void;
  /** Finishes animations that were not taken over: element positions must not depend on real time. Forces style. */
  settle(): void;
}

export function followAnimations(window: Page, time: VirtualTime): Animations {
  const begun = new Map<Animation, number>();
  return {
    collect() {
      for (const animation of window.document.getAnimations()) {
        if (begun.has(animation)) continue;
        animation.pause();
        animation.currentTime = 0;
        begun.set(animation, time.now);
      }
    },
    settle() {
      for (const animation of window.document.getAnimations()) {
        if (begun.has(animation)) continue;
        // One that goes on for ever has no end.
        if (animation.effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY) {
          animation.pause();
          animation.currentTime = 0;
        } else animation.finish();
      }
    },
    advance() {
      for (const [animation, start] of begun) {
        const end = Number(animation.effect?.getComputedTiming().endTime ?? 0);
        const at = time.now - start;
        if (at < end) {
          animation.currentTime = at;
          continue;
        }
        begun.delete(animation);
        // An event handler may have removed it from the page by now.
        if (Number.isFinite(end)) animation.currentTime = end;
        dispatchEnd(window, animation, end / 1000);
      }
    },
  };
}

function dispatchEnd(window: Page, animation: Animation, elapsedTime: number): void {
  const target = (animation.effect as KeyframeEffect | null)?.target;
  if (target == null) return;
  if ("transitionProperty" in animation) {
    const propertyName = String(animation.transitionProperty);
    for (const name of ["transitionend", "webkitTransitionEnd"])
      target.dispatchEvent(new window.TransitionEvent(name, { bubbles: true, propertyName, elapsedTime }));
  } else if ("animationName" in animation) {
    const animationName = String(animation.animationName);
    for (const name of ["animationend", "webkitAnimationEnd"])
      target.dispatchEvent(new window.AnimationEvent(name, { bubbles: true, animationName, elapsedTime }));
  }
}
