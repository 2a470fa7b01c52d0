import type { GameThread } from "@attract/worker/game/game-thread";

/** A thread of the sandbox that only remembers what it is told, and says what a test lets it say. */
export class FakeThread<Order, News> {
  readonly posted: Order[] = [];
  onmessage: ((event: MessageEvent<News>) => void) | null = null;
  onerror: GameThread["onerror"] = null;
  isTerminated = false;

  postMessage(order: Order): void {
    this.posted.push(order);
  }

  terminate(): void {
    this.isTerminated = true;
  }

  says(news: News): void {
    this.onmessage?.({ data: news } as MessageEvent<News>);
  }
}
