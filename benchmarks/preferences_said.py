"""Preferences that people state, by topic, each with a question (indented) that needs it
and does not name it.

The first half of each topic is for tuning, the second is held out.
"""

SAID = """
# learning style
I learn best by building things with my hands, long lectures put me to sleep.
    What would be a good way to get into electronics?
I can only concentrate when I study on my own, group work wears me out.
    How should I prepare for my certificate exam next month?
I need pictures and diagrams to understand anything, plain text does not stick.
    Can you suggest how I might learn human anatomy?
I dislike learning through videos and prefer to read at my own pace.
    Where could I pick up the basics of statistics?
I hate being graded, tests make me anxious.
    Which pottery or drawing class would suit me?
I study in very short bursts and can't sit through anything over twenty minutes.
    What's the best plan for mastering a new language?
I want a teacher who corrects me at once, finding out later frustrates me.
    How can I improve my public speaking?
I remember things only if I hear them, so I do all my studying with audio.
    Any ideas for getting through a history course?
I can't stand courses with fixed weekly deadlines.
    Which programming bootcamp should I sign up for?
I like competing with others while I learn, it keeps me going.
    How do I stay motivated to learn maths?
# learning resources
I refuse to pay for subscriptions to study sites.
    Where can I find a good course in graphic design?
I only trust textbooks written by university professors.
    What should I read to understand economics?
I find online classes impersonal and want to sit in a real classroom.
    How could I learn accounting this autumn?
I avoid anything from the big video platforms when I study.
    Can you point me to material on guitar theory?
I prefer old printed manuals over apps.
    What do I use to teach myself sewing?
I never use flashcard programs, they feel like a chore.
    How do I build a large vocabulary in Italian?
I insist on material that comes with exercises and solutions.
    What is a decent introduction to chemistry?
I want everything offline, my connection at home is terrible.
    Which tutorials would get me started with photography?
I steer clear of courses taught by celebrities.
    Is there a class about writing fiction worth taking?
I only like resources that have an active forum of learners.
    Where do beginners go to study astronomy?
# games
I can't stand games with a lot of violence.
    What should I play on my console this weekend?
I get motion sick from anything in first person view.
    Any new releases on PC that I would enjoy?
I prefer playing cooperatively, competing against friends spoils the mood.
    What could we play on our next board game night?
I never spend money inside games.
    Which mobile titles are fun right now?
I only enjoy puzzles, reflexes were never my strength.
    Recommend something for my handheld for a long flight.
I dislike games that need more than an hour at a time.
    What's a great role playing adventure to start?
I am tired of open worlds, I want a straight story.
    Which blockbuster title should I buy on sale?
I don't play anything that must be online all the time.
    What would be good to install on my new laptop for evenings?
I love pixel art and skip anything that looks realistic.
    Tell me about some indie hits I may have missed.
I only play with a controller, never with mouse and keyboard.
    Which strategy titles would you suggest?
# films
I can't watch anything scary, even trailers give me nightmares.
    What should we see at the cinema on Halloween?
I only watch movies in black and white.
    Which picture would you put on tonight?
I hate sad endings.
    Recommend a romantic drama for a rainy evening.
I avoid superhero movies completely.
    What are the best blockbusters of this summer?
I prefer films with subtitles from other countries.
    What would be a nice thing to watch with my sister on Saturday?
I fall asleep in anything longer than ninety minutes.
    Which epics of the last decade are worth my time?
I dislike animation of any kind.
    What could the whole family watch together?
I can't bear films where an animal gets hurt.
    Suggest a classic adventure movie.
I won't watch remakes or sequels.
    What is showing that I might like?
I only like documentaries, invented stories bore me.
    Pick something for my movie night.
# series
I never start a show that isn't finished yet.
    What should I binge next?
I dislike laugh tracks.
    Can you suggest a comedy series for lunch breaks?
I give up on shows with more than two seasons.
    Which crime series is everybody talking about?
I only watch shows that are set in the past.
    What is good on streaming this month?
I find reality television unbearable.
    What can I watch after work to switch off?
I want episodes under half an hour.
    Is there a science fiction series you'd recommend?
I can't follow anything with dozens of characters.
    Which fantasy show should I try?
I hate cliffhangers with a passion.
    Recommend me a thriller on television.
I only put on cooking competitions or baking shows.
    What's worth watching tonight while I fold laundry?
I avoid hospital dramas, they stress me.
    What are some highly rated series?
# music
I can't stand heavy guitars or shouting.
    Put together a playlist for my run.
I listen to instrumental pieces only, singing distracts me.
    What should I play while I work?
I love jazz from the fifties and little else.
    Which albums would you suggest for a dinner party?
I dislike live recordings.
    Where do I start with the great soul singers?
I avoid big festivals and packed arenas, crowds scare me.
    Which concerts should I go to this summer?
I only listen to artists from Latin America.
    What's a good soundtrack for my road trip?
I can't bear autotuned vocals.
    Which new pop songs would I enjoy?
I prefer vinyl over streaming.
    How should I listen to the new record of my favourite band?
I find electronic beats exhausting.
    Suggest something energetic for cleaning the house.
I like songs with clever lyrics more than a catchy tune.
    Who should I listen to if I want to discover rap?
# books
I dislike stories told by several narrators.
    What novel should I take on holiday?
I never read anything over three hundred pages.
    Which fantasy saga would you recommend?
I only read women writers this year.
    What is a good thriller for the train?
I can't stand self help.
    What can I read to become more productive?
I prefer short stories to novels.
    Which author should I discover next?
I avoid books about war.
    What are some great historical novels?
I only listen to audiobooks, my eyes tire quickly.
    How do I get through the classics?
I hate open endings.
    Suggest a mystery for my book club.
I won't read translations, only originals in English.
    What literature has won prizes lately?
I like books with maps and illustrations in them.
    Which travel writer should I start with?
# sports
I don't like contact sports.
    What could I join at the local club?
I hate swimming and being in water.
    Which summer activity would get me moving?
I support small local teams and find the big leagues dull.
    What match should I go and see?
I only like sports I can do alone.
    What should I take up this spring?
I am afraid of heights.
    Which outdoor adventure should I try?
I refuse to watch boxing or any fighting.
    What sporting events are on television this weekend?
I prefer winter sports and wilt in the heat.
    What should I train for next?
I dislike anything with a racket.
    My company offers free memberships, which club do I choose?
I can't stand early morning kick-offs.
    How do I follow the world cup this year?
I love statistics more than the game itself.
    How might I enjoy the baseball season?
# beauty
I only use products without any fragrance.
    Which moisturiser should I get for winter?
I don't buy from brands that test on animals.
    What's a good mascara?
I want my whole routine to take less than five minutes.
    How should I look after my skin?
I avoid parabens and sulphates.
    Can you recommend a shampoo?
I dislike makeup that looks like makeup.
    What do I wear on my face for a wedding?
I never use anything sticky or oily on my skin.
    Which sunscreen is best?
I prefer solid bars to bottles, for the sake of less plastic.
    What should I wash my hair with?
I can't stand bright nail colours.
    What should I ask for at the manicure?
I only trust products from the pharmacy.
    What helps against dry lips?
I don't want to dye my hair, I like my grey.
    How could I freshen up my look at the salon?
# food
I am a vegetarian.
    What can I cook for dinner with friends on Friday?
I can't handle spicy dishes.
    Which Thai recipes should I try at home?
I don't eat anything with gluten.
    What's a quick breakfast before work?
I dislike mushrooms so much that the smell puts me off.
    Give me an idea for a risotto.
I am allergic to nuts.
    What should I bake for my birthday?
I stay away from sugar.
    What would be a nice dessert?
I don't eat dairy.
    How do I make a creamy pasta?
I only cook meals that need one pot.
    What shall I make for the family on Sunday?
I avoid pork for religious reasons.
    What goes on a good pizza?
I can't stand coriander.
    How do I make fresh tacos?
# fitness
I hate gyms with mirrors and loud music.
    How can I get stronger this year?
I have bad knees, so jumping and running are out.
    What's an effective cardio workout?
I only exercise outdoors.
    Set up a training plan for me, please.
I prefer dancing to any kind of machine.
    How do I lose a few pounds before summer?
I don't lift weights.
    What would build up my upper body?
I work out in the evening, never before breakfast.
    How do I fit exercise into my week?
I can't stand instructors who yell.
    Which group class should I book?
I want exercises without any equipment.
    How can I train my back?
I find yoga boring.
    What helps me become more flexible?
I need a partner to train with or I quit.
    How do I keep going with my workouts?
# health
I avoid taking pills unless there is no other way.
    What helps with my headaches?
I don't trust apps with data on my body.
    How can I keep an eye on my blood pressure?
I can't meditate, sitting still makes me nervous.
    What should I do about stress?
I only go to doctors who take time to explain.
    How do I find somebody to look at my back pain?
I prefer herbal remedies.
    What can I take for a cold?
I don't drink coffee or anything with caffeine.
    How do I get over the slump in the afternoon?
I need complete darkness and silence at night.
    How might I sleep better?
I faint at needles.
    What should I know about getting a check-up?
I don't want to count calories.
    How could I reach a healthier weight?
I refuse to wear anything on my wrist, day or night.
    How can I find out whether I rest enough?
# pets
I am allergic to cats.
    Which animal would make a good companion for me?
I dislike shedding fur all over the sofa.
    What breed should we get for the kids?
I want to adopt from a shelter, never from a breeder.
    Where can I find a puppy?
I can't keep animals in cages.
    What would be a good first pet for my son?
I feed my dog only home cooked meals.
    What should I give her for more energy?
I travel every other week.
    What kind of pet fits my life?
I don't believe in punishing animals when they misbehave.
    How do I stop my dog from pulling on the leash?
I prefer older, calm animals.
    Which cat from the listings should I pick?
I won't buy toys made of plastic.
    How can I keep my parrot busy?
I am scared of large dogs.
    What would be a good guard animal for the house?
# work
I can't work in an open office.
    Which companies should I apply to?
I never want to manage people.
    What's the next step in my career?
I only take jobs that let me stay at home.
    How do I find a position in marketing?
I don't answer messages after five o'clock.
    How should I organise my day as a consultant?
I dislike travelling for business.
    Would a sales role suit me?
I do my best work late at night.
    What kind of employer should I look for?
I prefer small teams where everyone knows each other.
    Should I take the offer from the big bank?
I need a fixed salary, commissions make me uneasy.
    What other careers could I consider?
I value a short commute over more money.
    Which of the two job offers is better?
I hate meetings and would rather write.
    How should my project be run?
# clothes
I never wear wool, it itches.
    What coat should I buy for the winter?
I only buy second hand.
    Where can I get a suit for an interview?
I dislike logos on anything I wear.
    Which sneakers are in fashion?
I wear black and nothing else.
    What would be a good outfit for a garden party?
I don't wear leather.
    Can you recommend some boots?
I can't walk in heels.
    What shoes go with my evening dress?
I avoid clothes that need ironing.
    What shirts should I get for the office?
I want things made locally and not flown around the world.
    Which jeans are good?
I don't like tight fits.
    What should I wear to the gala?
I find jewellery a nuisance.
    What accessories would finish my look?
# home
I dislike bright colours on walls.
    How should I paint the living room?
I only buy furniture made of solid wood.
    Which desk would you get?
I want as few things around me as possible.
    How could I decorate my bedroom?
I can't stand carpets, they collect dust.
    What flooring should go in the nursery?
I never assemble anything myself.
    Where do I order a wardrobe?
I don't want any smart gadgets listening in my rooms.
    How should I set up the lighting?
I prefer antiques to new pieces.
    What kind of dining table suits my flat?
I kill every plant that I own.
    How can I make my balcony nicer?
I avoid glass tables because of my toddler.
    Which coffee table should I choose?
I hate open shelves.
    How do I store things in my new kitchen?
# vehicles
I will not buy anything that runs on petrol.
    What should I get as a family car?
I can't drive a manual.
    Which used sports car is a good deal?
I want a very small one because parking here is impossible.
    What vehicle would you suggest?
I never buy new, the loss in value hurts.
    Which models should I look at this year?
I dislike touch screens while driving.
    What's a nice car for long distances?
I need room for two wheelchairs.
    Which van should we rent?
I only trust Japanese makers.
    What would be a reliable hatchback?
I hate SUVs.
    What can carry us and our camping gear?
I won't pay for extras and packages.
    How do I choose my next lease?
I love motorcycles with an upright position, my wrists hurt otherwise.
    What bike should I test ride?
# devices
I don't use anything made by Apple.
    Which phone has the best camera?
I want a headphone jack on every device.
    What should I get to listen to podcasts on the go?
I only buy electronics that can be repaired.
    Which laptop is good for a student?
I dislike wireless earbuds, I lose them.
    What would improve my calls?
I can't read small screens.
    Which reader for books should I choose?
I avoid devices that need an account to work.
    Which camera doorbell is good?
I never buy the latest model.
    Is it time to replace my tablet?
I want everything to be silent, fans drive me mad.
    What kind of desktop computer should I build?
I don't keep my files with any cloud service.
    How do I back up my pictures?
I refuse to have a television.
    How can we watch films at home?
# travel
I get seasick.
    What would be a nice trip for our anniversary?
I avoid places full of tourists.
    What should I see in Rome?
I don't fly because of the climate.
    How could I get to Lisbon from Berlin?
I only stay in places with a kitchen.
    Where should we sleep in Barcelona?
I dislike museums.
    What is there to do in Paris for three days?
I can't take the heat.
    Where should I spend my holiday in August?
I never book guided tours.
    How do I explore Kyoto?
I want to be in nature, cities tire me out.
    Where could we go for the long weekend?
I need a room on a low floor, lifts frighten me.
    Which hotel in Chicago do you recommend?
I refuse to share a bathroom with strangers.
    What are cheap places to stay in London?
# eating out
I don't like loud places.
    Where should I take my parents for dinner?
I avoid buffets.
    What's a good lunch in Las Vegas?
I only go where they cook with what is in season.
    Can you pick somewhere to eat in Copenhagen?
I can't eat seafood.
    Which restaurants in Lisbon are special?
I never wait in line for a table.
    Where do I get the best ramen in town?
I don't drink alcohol.
    Where could we go out on Friday night?
I dislike fancy service and tablecloths.
    Which places should we try in Lyon?
I only eat halal.
    Where can I have a burger around here?
I want to sit outside whenever I eat out.
    Any tip for brunch?
I refuse to go to chains.
    Where can I get a decent coffee and a sandwich?
"""
