/** The names, words and weights by which the probe tells what is what in a page. All that depends on words is here. */

// Scores.

export const SCORE_NAMES: readonly [RegExp, number][] = [
  [/score/i, 10],
  [/points?$|^pts$/i, 9],
  [
    /coins?$|gold$|money$|cash$|lines|kills|eaten|apples|gems|collected|distance(?!s|Meter)|survived|meters|travel/i,
    7,
  ],
  [/hits|caught|passed|jumps|bounces|rally|level|wave|combo|stars|fruits|cleared|bricks/i, 3],
  // A race has no other.
  [/^(position|progress|odometer|mileage|depth|altitude|laps?)$/i, 2],
];

/** A name of this weight or more denotes a score. */
export const SAID = 9;

/** What becomes longer with each success. */
export const GROWING = /snake|body|tail|trail|segments|caught|collected|eaten|captured/i;

/** Names of neither observations nor scores. */
export const RECORDS =
  /^starts$|^stops$|happyTimes|best|high|record|^hi$|play_?count|raf|raq|handle|timeout|interval|_id$|Id$/;

export const NO_SCORE =
  /^(?:num_?|total_?)?(?:moves?|clicks?|attempts?|tries|guesses|flips?|turns?)(?:_?(?:count|num|number|made|done|taken|used))?$|best|high|opponent|hi_?score|^hi$|max|record|top|last|prev|target|goal|min|per|step|font|x$|y$|width|height|speed|label|text/i;

/** Numbers that come back to the same after a turn. */
export const ANGLES = /^_?(?:angle|heading|rotation|rot|theta|yaw|bearing|orientation)$/i;

// Ends.

export const OVER_NAMES =
  /^(is_?|has_?|_|player_?|game_?)*(over|ended|end|finished|lost|lose|dead|died|crashed|failed|done|complete)$|game_?over/i;

export const PLAYING_NAMES = /playing|running|alive|in_?game|active|started/i;

export const STATE_NAMES = /state|mode|phase|screen|scene|status|stage|^current$/i;

/** Names of states before a game: leaving one is no end. */
export const MENU_STATES = /menu|title|intro|welcome|ready|load|idle|home|attract/i;

export const OVER_STATES = /over|dead|lost|lose|end|fail|finish|done|crash|result|stop/i;

export const LIVES_NAMES = /^(lives|life|health|hp|hearts|energy|num_?lives)$/i;

/** Names of quantities that run out. */
export const LEFT_NAMES = /time_?left|remaining|countdown|lives_?left|seconds_?left|^timer$/i;

export const SHOWN_LEFT_NAMES = /left|remaining|countdown|lives|timer|time/i;

export const CLOCK_NAMES =
  /time|stamp|frame|tick|fps|delta|^dt$|elapsed|counter|^now$|seed|^id$|^then$|version/i;

// Words that a player is shown.

/** Words shown to a player; not names such as `gameOver`. Stricter than for drawn texts, since code is full of names. */
export const LOST_WORDS =
  /\bgame\s+over\b|\byou(?:'ve|\s+have)?\s+(?:lose|lost|die|died|crashed|failed)\b|\byou(?:'re|\s+are)\s+dead\b|\btime(?:'s|\s+is)?\s+up\b|\bbusted\b|\bit(?:'s|\s+is)?\s+an?\s+(?:draw|tie)\b/i;

export const WON_WORDS =
  /\byou(?:'ve|\s+have)?\s+(?:win|won|escaped|survived|solved|made\s+it|did\s+it)\b|\bvictory\b|\bcongratulations\b|\b(?:level|game)\s+(?:complete|won)\b|\b(?:player|computer|x|o|red|yellow|blue|green|white|black)\b.{0,8}\bwins\b|\bwinner\s*:/i;

/** What a menu asks for. */
export const PROMPT =
  /\b(?:press|hit|push|tap|click|touch)\b.{0,40}\b(?:start|play|begin|continue|launch)\b|\b(?:press|hit|push)\s+(?:the\s+)?(?:any\s+key|space\s?bar|space|enter|return)\b|\binsert\s+coin\b/i;

// Menus.

/** At the beginning of a word: `scoreDisplay` is no button, nor is `player`. */
export const START_WORDS =
  /\b(?:(?:re)?(?:start|play(?!er))|begin|new|go\b|enter|continue|ok|skip|next|tap|click)/i;

/** Files of pictures that ask for a press; not "player.png". */
export const START_PICTURES =
  /(?:^|[^a-z])(?:start|play|begin|continue|ok|skip|next|go)(?:[^a-z]|btn|button|$)/i;

/** Words of buttons that start no game. */
export const OTHER_WORDS =
  /mute|sound|music|audio|volume|help|about|option|setting|share|pause|stop|instruction|rule|credit|score|leader|full.?screen|source|download|log.?in|sign|close|cancel|back|quit|exit|menu|theme|language|reset|clear|delete/i;

export const PRESS_WORDS =
  /\b(?:press|hit|push)\s+(?:the\s+)?["'<([]*(space\s?bar|space|enter|return|[a-z0-9])\b/gi;

export const LOADING = /\bloading\b/i;

/** Texts shown while a game is about to start. */
export const COUNTDOWN = /\bget\s+ready\b|^\s*ready\b|\b(?:start|begin)(?:s|ing)?\s+in\b|\bloading\b/i;

// What is looked into.

/** Rows of numbers that are a place or a speed. */
export const VECTOR_NAMES =
  /^_?(?:pos\w*|loc\w*|coords?|coordinates?|cent(?:er|re)|point|xy|vel\w*|speed\w*|dir\w*|acc\w*)$/i;

/** Names of libraries' globals; other library globals are recognised by their content. */
export const LIBRARIES =
  /^(_k|Phaser|PIXI|THREE|Matter|Box2D|CANNON|planck|Ammo|KeyboardJS|Howler?|jQuery|\$|_|gsap|createjs|p5|Babylon|me|kaplay|kaboom|webpack.*|__.*)$/i;

/** Names for sound and drawing, which are no game state. */
export const FURNITURE =
  /^(audio\w*|\w*(?:music|sounds?|sfx|audio)|ctx|context|canvas|images?|img|sprites?heets?|assets|textures?|_?frame|fonts?|styles?|colou?rs?|palette|shaders?|renderer|cache|loader|parent\w*|geometry|material|matrix\w*|groups|quaternion|layers|userData|displayList|_?events|listeners|plugins|bounds|world|transform|prev\w*|autoFrame|newVelocity|wasTouching|pathData|gameObject|plugin|systems|anims|\w*pipeline\w*|commandBuffer|render(?:Flags|List)|originalEvent|_eventsCount)$/i;

/** Names under which a game records pressed keys, which an agent knows by itself. */
export const NOTED =
  /\b(keys|key_?(down|states?|pressed|board|map|held|codes?)|keys_?(down|pressed|held)|(held|pressed|down)_?keys|held|pressed|inputs?|mouse\w*|pointer\w*|touch\w*|controls?)\b/i;

// Roots and elements.

/** Functions without arguments that give the state of the game. */
export const GETTER_NAMES =
  /^_*(?:get|is|has|read)_?(?:game_?)?(?:state|score|observation|obs|status|over|game_?over|lives|player|snapshot|info)$/i;

export const OVER_ELEMENTS =
  /over|lose|lost|fail|dead|result|restart|replay|score_?board|again|retry|finish|win|end|message|modal|popup|dialog|banner/i;

export const OPPONENTS =
  /\b(?:computer|computadora|ordinateur|cpu|ai|bot|enem(?:y|ies)|opponents?|dealer|gegner)\b/i;

/** What a game begins with is often what it comes back to. */
export const MENU_NAMES = /start|menu|intro|title|splash|welcome/i;

// Restarts.

export const RESTART_NAMES =
  /^(?:re_?start(?:_?game)?|re_?set(?:_?game)?|new_?game|start_?(?:new_?)?game|play_?again|retry|begin|start|play|init_?game|setup_?game)$/i;

export const RESTART_ORDER = ["new_?game", "restart", "again|retry", "reset", "begin", "start", ""];

// The player.

/** Names whose last letter is an axis. */
export const PLACED = /^[a-z]?[xy]$|_[xy]$|[a-z\d][XY]$/;

export const NO_PLACE =
  /^(?:v|d|a|vel|velocity|speed|dir|direction|acc|acceleration|prev|previous|last|old|start|mouse|offset|scale|max|min|next|delta)_?[xy]$/i;

/** The object whose `x` and `y` are a speed or a size. */
export const NO_HOLDER =
  /\b(?:vel\w*|speed\w*|dir\w*|acc\w*|scale\w*|size|offset|origin|anchor|prev\w*|next\w*)(?:\?\.|\.)\w+$/i;

export const PLACE_ROW = /^_?(?:pos\w*|loc\w*|coords?|coordinates?|cent(?:er|re)|point|xy)$/i;

// Lists.

/** Names by which games mark what they keep in a list and no longer play with. */
export const ALIVE_FIELDS = /^(?:is_?)?alive$/i;

export const DEAD_FIELDS =
  /^(?:is_?)?(?:dead|destroyed|removed|deleted|killed)$|^(?:is_?)?marked_?for_?(?:deletion|removal)$/i;

// What is drawn, heard and called.

export const OVER_TEXTS =
  /game\s*over|you\s*(lose|lost|die|died|win|won|are\s*dead)|(play|try)\s*again|restart|retry|time'?s?\s*up|the\s*end|busted|crashed|defeat|victory/i;

export const PAUSED = /paus(?:e|ing)/i;

export const NO_TITLE =
  /^(?:document|untitled(?: document)?|index(?:\.html)?|vite(?: \+ \w+| app)?|title|app|game|)$/i;

/** Properties of a Phaser scene that belong to the engine. */
export const PHASER_SYSTEMS =
  /^(sys|game|anims|cache|registry|sound|textures|events|cameras|add|make|scene|children|lights|data|input|load|time|tweens|physics|matter|impact|renderer|scale|plugins|facebook|keyboard|cursors)$/;

/** Those of a keyboard or a mouse. */
export const HANDS = /^(?:key|mouse|pointer|click|dblclick)/;
